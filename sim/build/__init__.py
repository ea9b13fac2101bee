"""Cached build products: the cache, Verilog, the simulation, exports."""
