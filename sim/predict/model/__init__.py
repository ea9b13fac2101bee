"""The machine's time as a specification: which warp issues in every cycle of a run, computed before the run.

One module a unit, each rule with the section of docs/design.md or docs/memory.md that it comes from. It knows the
configuration, the instruction set and each warp's instructions (from the golden model), and nothing of the hardware's
insides; ``metronome predict --verify`` compares the two cycle by cycle.
"""
