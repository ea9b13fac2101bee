"""Predictions of runs: the model of :mod:`.model`, driven with a program, a memory model and the golden model."""
