"""Predict the run of a program on a GPU of several SMs."""
