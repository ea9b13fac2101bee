"""RV32F: the parts that the floating-point units share, and the units."""
