"""Waveforms of the simulated hardware: the VCD that the simulation dumps, and other formats made from it."""
