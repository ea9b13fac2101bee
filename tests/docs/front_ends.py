"""Two front ends cycle by cycle: ``python -m tests.docs.front_ends`` draws docs/pictures/front-ends.svg.

`swas` is predicted. `baseline` cannot be predicted, so it is run on the hardware.
"""

from dataclasses import dataclass, replace
from string import Template

import numpy as np

from metronome.hdl.config import Coordination
from metronome.sim.machine.events import EVENT, NONE
from metronome.sim.predict.predictor import predict
from metronome.sim.program.assembler import asm
from metronome.sim.run.runner import RunRequest, run
from tests.docs.pages import ROOT
from tests.system.rtl_programs import RawProgram
from tests.system.scheme_builds import BASELINE, build_of

PICTURE = ROOT / "docs" / "pictures" / "front-ends.svg"
#: The instructions that warp 0 executes alone, the last of them a wspawn; then both warps execute the same ones.
ALONE, BOTH = 9, 18
#: The cycles of the picture, from the one in which warp 1 starts.
CYCLES = 27


@dataclass(frozen=True)
class Cycle:
    """A cycle of a front end. Warps are numbers or NONE, instructions are counted from 1 at the start of warp 1."""

    fetched: int
    fetch: int
    missed: int
    refill: bool
    issued: int
    issue: int | None  # None: a NOP
    wanted: int  # the warp that the policy would select if fetch never interfered: osched2


def program() -> RawProgram:
    """Warp 0 starts warp 1, and both run straight on into the next line."""
    p = asm.Program()
    p.li(1, 2)
    p.la(2, "both")
    p.add(*(asm.addi(5 + number, 0, number) for number in range(ALONE - 4)), asm.wspawn(1, 2))
    p.label("both")
    p.add(*(asm.addi(5 + number % 8, 0, number) for number in range(BOTH)), asm.tmc(0))
    return RawProgram(p.assemble())


class _Events:
    """Keeps the events of a run."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.kept = np.zeros(0, EVENT)

    def take(self, events: np.ndarray) -> None:
        self.kept = np.concatenate([self.kept, events])


def schedules() -> dict[str, list[Cycle]]:
    """The cycles of the picture, by front end."""
    baseline, _ = build_of(*BASELINE)
    swas = replace(baseline, coordination=Coordination.SWAS, fetch_policies=())
    request = RunRequest(launch=program(), policy="gtlrr", latency=4)
    predicted, measured = _Events(), _Events()
    predict(swas, request, watcher=predicted)
    result = run(baseline, replace(request, fetch_policy="lrr"), watcher=measured)
    assert result.status == "ended"
    return {"swas": _cycles(predicted.kept), "baseline": _cycles(measured.kept)}


def _cycles(events: np.ndarray) -> list[Cycle]:
    """The cycles as they are drawn. The pc of a fetch is not an event: it follows the last one, or repeats a miss."""
    entry = RawProgram(b"").entry
    pcs, previous = [entry, entry + 4 * ALONE], NONE
    found = []
    for at, event in enumerate(events):
        if event["missed"]:
            pcs[previous] -= 4
        fetched, issued = int(event["fetched"]), int(event["selected"])
        stage_x = events[min(at + 2, len(events) - 1)]
        found.append(Cycle(
            fetched=fetched, fetch=_number(pcs[fetched], entry), missed=previous if event["missed"] else NONE,
            refill=bool(event["refill"]), issued=issued,
            issue=None if event["nop"] else _number(int(stage_x["executed_pc"]), entry), wanted=int(event["osched2"]),
        ))
        if fetched != NONE:
            pcs[fetched] += 4
        previous = fetched
    start = int(np.flatnonzero(events["active"] & 2)[0])
    return found[start:start + CYCLES]


def _number(pc: int, entry: int) -> int:
    return (pc - entry) // 4 - ALONE + 1



#: Sizes of the picture, in pixels: its margin, the names of the rows, a cell, and the height of a bar of a miss.
_MARGIN, _NAMES, _WIDE, _HIGH, _BAR = 18, 96, 23, 24, 17
_WIDTH = 2 * _MARGIN + _NAMES + CYCLES * _WIDE
_TITLES = {
    "swas": "swas: one scheduler selects the warp that fetches and issues",
    "baseline": "baseline: two schedulers, fetch by lrr and issue by gtlrr",
}
_HEAD = Template("""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" width="$width" height="$height"
role="img">
<title>The front ends swas and baseline on the same program, cycle by cycle</title>
<style>
text { font: 12px system-ui, sans-serif; fill: #1c2126 }
.title { font-size: 14px; font-weight: 600 }
.soft { fill: #555d66 }
.cell { font-size: 11px; text-anchor: middle }
.bar { font-size: 11px }
.none { fill: none }
.paper { fill: #ffffff; stroke: #d3d8dd }
.grid { stroke: #d3d8dd }
.warp0 { fill: #bfe0f7 }
.warp1 { fill: #ffd9b8 }
.nop { fill: #e3e6e9 }
.other { fill: none; stroke: #c1272d; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e9ec }
  .soft { fill: #a9b2bb }
  .paper { fill: #14181c; stroke: #3a424b }
  .grid { stroke: #3a424b }
  .warp0 { fill: #1f5580 }
  .warp1 { fill: #7d4216 }
  .nop { fill: #4b545d }
  .other { stroke: #ff7b72 }
}
</style>
<rect class="paper" x="0.5" y="0.5" width="$inner_width" height="$inner_height" rx="6"/>""")


class _Drawing:
    """A drawing that grows downwards: ``y`` is where the next row begins."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = 10

    def text(self, x: float, y: float, words: str, kind: str = "") -> None:
        shown = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text{shown} x="{x:g}" y="{y:g}">{words}</text>')

    def box(self, kind: str, cycle: float, y: float, *, wide: float = 1, high: float = _HIGH - 4) -> None:
        """A box over ``wide`` cycles."""
        x, width = _MARGIN + _NAMES + cycle * _WIDE + 1.5, wide * _WIDE - 3
        self.parts.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{high:g}" rx="3"/>')

    def row(self, name: str, cells: list[tuple[str, str]], *, other: frozenset[int] = frozenset()) -> None:
        """A row of cells, each with its kind and text; those of ``other`` have a frame."""
        self.text(_MARGIN, self.y + 16, name)
        for cycle, (kind, words) in enumerate(cells):
            if kind:
                self.box(kind, cycle, self.y + 2)
                self.text(_MARGIN + _NAMES + (cycle + 0.5) * _WIDE, self.y + 16, words, "cell")
            if cycle in other:
                self.box("other", cycle, self.y + 2)
        self.y += _HIGH

    def misses(self, cycles: list[Cycle]) -> None:
        """A bar for each warp, from the cycle in which its fetch misses to that in which the line arrives."""
        self.text(_MARGIN, self.y + 21, "I-cache")
        refill = next(at for at, cycle in enumerate(cycles) if cycle.refill)
        for at, cycle in enumerate(cycles):
            if cycle.missed != NONE:
                y = self.y + 1 + _BAR * cycle.missed
                self.box(f"warp{cycle.missed}", at, y, wide=refill + 1 - at, high=_BAR - 2)
                self.text(_MARGIN + _NAMES + at * _WIDE + 6, y + 11.5, f"miss, warp {cycle.missed}", "bar")
        self.y += 2 * _BAR + 2

    def line(self) -> None:
        self.parts.append(f'<path class="grid" d="M{_MARGIN} {self.y + 0.5}H{_WIDTH - _MARGIN}"/>')


def _panel(drawing: _Drawing, name: str, cycles: list[Cycle]) -> None:
    drawing.text(_MARGIN, drawing.y + 18, _TITLES[name], "title")
    drawing.y += 28
    drawing.row("cycle", [("none", str(at)) for at in range(len(cycles))])
    drawing.line()
    drawing.row("fetch", [_cell(cycle.fetched, cycle.fetch) for cycle in cycles])
    drawing.misses(cycles)
    drawing.row("policy selects", [_cell(cycle.wanted, f"W{cycle.wanted}") for cycle in cycles])
    other = frozenset(at for at, cycle in enumerate(cycles) if cycle.wanted != cycle.issued)
    drawing.row("issue", [_cell(cycle.issued, cycle.issue) for cycle in cycles], other=other)
    drawing.y += 8


def _cell(warp: int, shown: int | str | None) -> tuple[str, str]:
    if warp == NONE:
        return "", ""
    return ("nop", "-") if shown is None else (f"warp{warp}", str(shown))


def picture(found: dict[str, list[Cycle]]) -> str:
    """The picture as SVG."""
    drawing = _Drawing()
    for name, cycles in found.items():
        _panel(drawing, name, cycles)
    drawing.line()
    drawing.y += 10
    place = -_NAMES / _WIDE
    for kind, words, wide in (("warp0", "warp 0 (W0)", 4.5), ("warp1", "warp 1 (W1)", 4.5), ("nop", "NOP", 3),
                              ("other", "the policy selects one warp; another one, or none, issues", 15)):
        drawing.box(kind, place, drawing.y, high=14)
        drawing.text(_MARGIN + _NAMES + (place + 1) * _WIDE + 4, drawing.y + 11.5, words)
        place += wide
    drawing.text(_MARGIN, drawing.y + 34, "The numbers are the instructions of a warp, counted from cycle 0.", "soft")
    size = {"width": _WIDTH, "height": drawing.y + 48}
    head = _HEAD.substitute(**size, **{f"inner_{name}": value - 1 for name, value in size.items()})
    return "\n".join([head, *drawing.parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(schedules()), "utf-8")
