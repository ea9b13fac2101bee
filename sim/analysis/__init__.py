"""Analyses that hold for all inputs of a program: time bounds (docs/wcet.md) and access order (docs/analyze.md).

Start with :mod:`.bound.bound`, which computes a bound. :mod:`.code.dependence` finds the instructions that depend on
the inputs, :mod:`.paths.explore` explores all paths of all warps, and :mod:`.bound.compose` combines their costs.
"""
