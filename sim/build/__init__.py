"""What is made once and kept: the cache, Verilog, the simulation, exports."""
