"""The kernel analyzer (docs/analyze.md): which accesses a program makes, in which order the data cache is to see them."""
