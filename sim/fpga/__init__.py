"""FPGA support: area, clock rate, and boards."""
