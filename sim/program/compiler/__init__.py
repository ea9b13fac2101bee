"""The compiler: its command lines, what it refuses, and a cache of its products."""
