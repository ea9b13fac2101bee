"""What the enables of idle lanes and units do to simulation speed: `python -m tests.system.measure_gating [PRESET]`.

Builds the SM as it is, and once more with every lane of every pipelined unit working in every cycle (and every lane of
the dividers in every division), and runs the same kernels on both, in turn.
"""

import sys
from statistics import median

from metronome.hdl.presets import PRESETS
from metronome.hdl.verilog import generate
from metronome.sim.program.kernels import prepare
from metronome.sim.run.runner import RunRequest, run_many
from metronome.tb.formal.broken import Broken, applied

KERNELS = (("psort", "int32", 512), ("sgemm", "float32", 24), ("saxpy", "float32", 4096))
REPEATS = 3

#: Not a proof's broken design, but made in the same way: one replacement in the source of a method.
UNGATED = Broken(
    "no operand gating", "none", "metronome.hdl.execute.compute:ComputeUnits.elaborate",
    """component.valid.eq(x.valid & (decoded.info.unit == unit)),
            component.op.eq(decoded.op),
            component.mask.eq(x.mask),""",
    """component.valid.eq((unit not in (Unit.DIV, Unit.FDIV)) | (x.valid & (decoded.info.unit == unit))),
            component.op.eq(decoded.op),
            component.mask.eq(-1),""",
)


def main(preset: str) -> None:
    """A line a kernel: cycles per second of both, and their ratio."""
    config = PRESETS[preset]
    gated = generate(config)
    with applied(UNGATED):
        ungated = generate(config)
    for kernel, dtype, size in KERNELS:
        launch = prepare(kernel, dtype, size, 1, config)
        request = RunRequest(launch=launch, policy="lrr")
        speeds: dict[str, list[float]] = {"gated": [], "ungated": []}
        cycles = set()
        for _ in range(REPEATS):
            for name, verilog in (("gated", gated), ("ungated", ungated)):
                (result,) = run_many(config, [request], verilog=verilog)
                assert not launch.check(result.memory), f"{kernel}: wrong result, {name}"
                cycles.add(result.total_cycles)
                speeds[name].append(result.total_cycles / result.sim_seconds)
        assert len(cycles) == 1, f"{kernel}: the two took different cycles: {cycles}"
        with_gates, without = median(speeds["gated"]), median(speeds["ungated"])
        print(f"{preset} {kernel} {dtype}: {with_gates:.0f} cycles/s, without gating {without:.0f}: "
              f"{with_gates / without:.3f} times as fast")


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["MID"]))
