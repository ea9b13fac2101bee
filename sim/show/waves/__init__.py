"""Waveforms of the simulated hardware: what the simulation dumps as VCD, and what becomes of it."""
