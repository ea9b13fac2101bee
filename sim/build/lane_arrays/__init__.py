"""The lanes of a unit as one module with a loop, for a simulation: less code, and none of it is run for idle lanes.

A lane's registers keep their values while their enables are 0 (:mod:`hdl.execute`). The logic before a register is
therefore needed only in cycles in which that register is enabled, and a lane without an enable needs nothing at all.
Verilator would evaluate all of it in every cycle, in one copy for each lane.

:class:`.platform.LaneArrays` replaces the lanes that :func:`hdl.lib.shared.share_lanes` adds. :mod:`.netlist` reads the
netlist of one lane from Yosys, :mod:`.order` decides when each cell is evaluated, and :mod:`.writer` writes
SystemVerilog.
"""
