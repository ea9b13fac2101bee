"""What can be said of a program for all its inputs: what depends on them, paths, and bounds of its time (docs/wcet.md).

Start with :mod:`.bound`: the bound and what it is made of. :mod:`.dependence` says which instructions depend on the
inputs; :mod:`.explore` and what it imports go through all paths of all warps; :mod:`.compose` makes one time of them.
"""
