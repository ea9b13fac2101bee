"""The timing specification of the machine: which warp issues in every cycle of a run, computed before the run.

Each unit has a module, and each rule cites its section of docs/design.md or docs/memory.md. The model knows the
configuration, the instruction set and each warp's instructions (from the golden model), but not the internals of the
hardware. ``metronome predict --verify`` compares the two cycle by cycle.
"""
