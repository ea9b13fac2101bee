"""Runs, computed: the model of :mod:`.model` with a program, a memory model and the golden model around it."""
