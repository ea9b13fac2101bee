"""The compiler: its command lines, its refusals, and a cache of its products."""
