"""Runs on a GPU of several SMs."""
