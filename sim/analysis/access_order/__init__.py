"""The kernel analyzer (docs/analyze.md): a program's accesses, in the order in which the data cache must see them."""
