"""Runs, computed: the model of :mod:`sim.predict` with a program, a memory model and the golden model around it."""
