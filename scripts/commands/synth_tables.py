"""Terminal output of ``metronome synth``, and its messages on missing figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.markup import escape
from rich.table import Table

from ..output.tables import new_table

if TYPE_CHECKING:
    from metronome.sim.fpga.synth import Part, SynthResult, Target
    from metronome.sim.fpga.synth.committed import Difference

__all__ = ["clocked", "compared", "not_routed", "parts"]

_NAMES = {"luts": "LUTs", "ffs": "FFs", "brams": "block RAM", "dsps": "DSPs", "memory_bits": "memory bits"}
#: nextpnr's name of a resource -> its name here.
_OF_DEVICE = {
    "TRELLIS_COMB": "LUTs", "TRELLIS_FF": "FFs", "DP16KD": "block RAMs", "MULT18X18D": "DSPs",
    "OXIDE_COMB": "LUTs", "OXIDE_FF": "FFs", "OXIDE_EBR": "block RAMs", "MULT18X36_CORE": "DSPs",
    "LUT4": "LUTs", "DFF": "FFs", "BSRAM": "block RAMs", "MULT18X18": "DSPs",
}


def parts(unit: str, found: Sequence[Part]) -> Table:
    """Return a table with a line for each part, indented by depth: its contents and its share of the first part."""
    (first, *others) = list(vars(found[0].area))
    table = new_table("part", f">{_NAMES.get(first, first)}", ">%", *(f">{_NAMES.get(name, name)}" for name in others),
                      title=f"{unit}, part by part")
    whole = found[0].area.size or 1
    for part in found:
        name = f"{'  ' * part.depth}{part.path.split('.')[-1] or unit}"
        table.add_row(escape(name), str(part.area.size), f"{100 * part.area.size / whole:.1f}",
                      *(str(getattr(part.area, name)) for name in others))
    return table


def _lines(result: SynthResult, fpga: Target) -> Iterator[str]:
    """The FPGA; area and clock rate; every seed; gates; how full the device is."""
    best = result.best
    yield f"{fpga}:"
    rate = "" if best is None else f", {best.fmax_mhz} MHz, {best.levels} levels"
    yield f"{result.unit}: {result.luts} LUTs, {result.ffs} FFs, {result.brams} block RAMs, {result.dsps} DSPs{rate}"
    if len(result.routes) > 1:
        each = ", ".join(
            f"seed {route.seed}: {'not routed' if route.fmax_mhz is None else f'{route.fmax_mhz} MHz'}"
            for route in result.routes
        )
        yield each if result.spread is None else f"{each}; the fastest is {result.spread} % above the slowest"
    if result.cells is not None:
        cells = result.cells
        yield f"without regard to the FPGA: {cells.gates} gates, {cells.ffs} FFs, {cells.memory_bits} bits of memory"
    if best is not None and best.utilization:
        used = ", ".join(f"{100 * best.utilization[kind]['used'] / best.utilization[kind]['available']:.1f} % of {name}"
                         for kind, name in _OF_DEVICE.items() if kind in best.utilization)
        yield f"with the registers around it, it uses of the device: {used}"


def clocked(result: SynthResult, fpga: Target) -> Group:
    """Return the FPGA, the area and the clock rate on one line, further figures, and the critical path as a table."""
    if result.best is None:
        return Group(*_lines(result, fpga))
    table = new_table(">ns", ">at ns", ">levels", "signal", title="Critical path")
    for step in result.best.critical_path:
        table.add_row(f"{step.delay_ns:.2f}", f"{step.at_ns:.2f}", str(step.levels), step.signal)
    return Group(*_lines(result, fpga), table)


def compared(found: Sequence[Difference]) -> Table:
    """Return the figures beside the committed ones."""
    table = new_table("figure", ">now", ">committed", ">%", title="Against the committed figures")
    for each in found:
        percent = "" if each.percent is None else f"{each.percent:+.1f}"
        table.add_row(_NAMES.get(each.figure, each.figure), f"{each.measured:g}", f"{each.committed:g}", percent)
    return table


def not_routed(result: SynthResult) -> Iterator[str]:
    """Yield a line for each seed without a clock rate: the reason, the remedy, and the path of nextpnr's log."""
    for route in result.routes:
        if route.problem is not None:
            hint = ""
            if "has not ended" in route.problem:
                hint = (": from some placements the router never ends; try another --seed, a lower --freq, or more "
                        "--minutes")
            where = "" if route.log is None else f" (log: {route.log})"
            yield f"seed {route.seed}: {route.problem}{hint}{where}"
