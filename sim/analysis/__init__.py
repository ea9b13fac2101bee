"""What can be said of a program for all its inputs: what depends on them, paths, and bounds of its time (docs/wcet.md).

Start with :mod:`.dependence` (which instructions depend on the inputs) and :mod:`.bound` (the bound and what it is made of).
"""
