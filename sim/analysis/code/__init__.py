"""A program's instructions, their costs, and their effect on intervals."""
