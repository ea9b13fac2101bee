"""The lanes of a unit as one module with a loop, for a simulation: less code, and none of it run for idle lanes.

A lane's registers keep their values while their enables are 0 (:mod:`hdl.execute`). So the logic in front of a register
is needed only in a cycle in which that register is enabled, and a lane without an enable needs nothing at all. Verilator
evaluates all of it in every cycle, in one copy for each lane.

:class:`.platform.LaneArrays` replaces the lanes that :func:`hdl.lib.shared.share_lanes` adds. :mod:`.netlist` reads what
Yosys makes of one lane, :mod:`.order` decides when which cell is evaluated, and :mod:`.writer` writes SystemVerilog.
"""
