"""The tables and the picture of docs/gpu.md, "Speed", from tests/system/scaling.json.

``python -m tests.system.measure_scaling`` makes the data, and writes all of it.
"""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

from metronome.hdl.config import LINE_BYTES
from metronome.sim.machine.memory.dram.timing import DDR4_2400R
from tests.docs.pages import ROOT
from tests.system.measure_scaling import DATA, MEMORIES, SMS

PICTURE = ROOT / "docs" / "pictures" / "scaling.svg"

#: The same as JSON: see :func:`tests.system.measure_scaling.measure`.
Data = Mapping[str, Mapping[str, Mapping[str, Any]]]
#: Cycles of the data bus of dram for a line, with a memory clock a cycle.
LINE_CYCLES = DDR4_2400R.bl


def read() -> Data:
    """The committed data."""
    data: Data = json.loads(DATA.read_text("utf-8"))
    return data


def _cycles(row: Mapping[str, Any], memory: str) -> list[int]:
    return [cycles for cycles, _ in row[memory]]


def _table(first: str, rows: Mapping[str, Mapping[str, Any]]) -> str:
    numbers = " | ".join(map(str, SMS[2:]))
    heads = [f"`{memory}`: {SMS[1]} | {numbers}" for memory in MEMORIES]
    lines = [f"| {first} | {' | '.join(heads)} |", "|" + "---|" * (1 + len(MEMORIES) * (len(SMS) - 1))]
    for kernel, row in rows.items():
        speeds = [f"{each:.2f}" for memory in MEMORIES for each in speed_ups(_cycles(row, memory))[1:]]
        lines.append(f"| {kernel}, {row['size']} | {' | '.join(speeds)} |")
    return "\n".join(lines)


def strong(data: Data | None = None) -> str:
    """The table of the same work on more SMs."""
    return _table("the same work: kernel, size", (data or read())["strong"])


def weak(data: Data | None = None) -> str:
    """The table of work in proportion to the number of SMs."""
    return _table("work in proportion: kernel, size for one SM", (data or read())["weak"])


def speed_ups(cycles: Sequence[int]) -> list[float]:
    """The cycles of one SM, divided by each."""
    return [cycles[0] / each for each in cycles]


def roofs(row: Mapping[str, Any]) -> list[float]:
    """For each number of SMs, the speed-up on dram if its data bus were never idle."""
    first = row["dram"][0][0]
    return [first / (lines * LINE_CYCLES) for _, lines in row["dram"]]


def ridge(row: Mapping[str, Any]) -> float | None:
    """The number of SMs for which the ideal reaches the roof; None if it does not up to the most SMs."""
    at = roofs(row)
    for (low, before), (high, after) in itertools.pairwise(zip(SMS, at, strict=True)):
        if low <= before and high >= after:
            # Both are straight lines between two numbers of SMs, on axes of logarithms.
            one, other = math.log(before / low), math.log(after / high)
            return float(low * (high / low) ** (one / (one - other)))
    return None


def bytes_a_cycle(row: Mapping[str, Any]) -> float:
    """Bytes that the most SMs move to and from dram in a cycle."""
    cycles, lines = row["dram"][-1]
    return float(lines * LINE_BYTES / cycles)


#: Sizes, in pixels: the margin, a panel, the space for its name and numbers, and the panels side by side.
_MARGIN, _SIDE, _LEFT, _ABOVE, _BELOW, _COLUMNS = 18, 122, 30, 30, 40, 5
_WIDE, _HIGH = _LEFT + _SIDE + 8, _ABOVE + _SIDE + _BELOW
_HEAD = Template("""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" width="$width" height="$height"
role="img">
<title>Speed-up of ten kernels on 1 to 16 SMs, with memory fixed and dram, and the peak of dram</title>
<style>
text { font: 12px system-ui, sans-serif; fill: #1c2126 }
.title { font-size: 13px; font-weight: 600 }
.soft { font-size: 11px; fill: #555d66 }
.right { text-anchor: end }
.middle { text-anchor: middle }
.paper { fill: #ffffff; stroke: #d3d8dd }
.grid { stroke: #d3d8dd; fill: none }
.ideal { stroke: #8a929a; fill: none }
.fixed { stroke: #0072b2; stroke-width: 2; fill: none }
.dram { stroke: #d55e01; stroke-width: 2; fill: none }
.roof { stroke: #1c2126; stroke-width: 1.5; stroke-dasharray: 4 3; fill: none }
.ridge { stroke: #1c2126; stroke-width: 1.5; fill: #ffffff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e9ec }
  .soft { fill: #a9b2bb }
  .paper { fill: #14181c; stroke: #3a424b }
  .grid { stroke: #3a424b; fill: none }
  .ideal { stroke: #818a93; fill: none }
  .fixed { stroke: #4aa3df }
  .dram { stroke: #f08330 }
  .roof { stroke: #e6e9ec }
  .ridge { stroke: #e6e9ec; fill: #14181c }
}
</style>
<clipPath id="panel"><rect x="0" y="-2" width="$side" height="$clip"/></clipPath>
<rect class="paper" x="0.5" y="0.5" width="$inner_width" height="$inner_height" rx="6"/>""")


def _place(value: float) -> float:
    """A number of SMs or a speed-up on an axis of logarithms: 0 to ``_SIDE``."""
    return _SIDE * math.log(value) / math.log(SMS[-1])


def _line(kind: str, values: Sequence[float]) -> str:
    points = (f"{_place(sms):.1f} {_SIDE - _place(value):.1f}" for sms, value in zip(SMS, values, strict=True))
    return f'<path class="{kind}" clip-path="url(#panel)" d="M{"L".join(points)}"/>'


def _panel(kernel: str, row: Mapping[str, Any], column: int, place: int) -> list[str]:
    x, y = _MARGIN + column * _WIDE + _LEFT, _MARGIN + place * _HIGH + _ABOVE
    parts = [f'<g transform="translate({x} {y})">', f'<text class="title" x="0" y="-10">{kernel}, {row["size"]}</text>']
    for sms in SMS:
        at = _place(sms)
        parts.append(f'<path class="grid" d="M{at:.1f} 0V{_SIDE}M0 {_SIDE - at:.1f}H{_SIDE}"/>')
        parts.append(f'<text class="soft middle" x="{at:.1f}" y="{_SIDE + 14}">{sms}</text>')
        if column == 0:
            parts.append(f'<text class="soft right" x="-6" y="{_SIDE - at + 4:.1f}">{sms}</text>')
    parts += [_line("ideal", SMS), _line("roof", roofs(row))]
    parts += [_line(memory, speed_ups(_cycles(row, memory))) for memory in MEMORIES]
    end = ridge(row)
    if end is not None:
        parts.append(f'<circle class="ridge" cx="{_place(end):.1f}" cy="{_SIDE - _place(end):.1f}" r="4"/>')
    peak = LINE_BYTES / LINE_CYCLES
    moved = f"{bytes_a_cycle(row):.1f} of {peak:g} bytes a cycle"
    parts += [f'<text class="soft" x="0" y="{_SIDE + 28}">{moved}</text>', "</g>"]
    return parts


def picture(data: Data) -> str:
    """The picture as SVG: a panel for each kernel of the strong table."""
    parts: list[str] = []
    for number, (kernel, row) in enumerate(data["strong"].items()):
        parts += _panel(kernel, row, number % _COLUMNS, number // _COLUMNS)
    y = _MARGIN + -(-len(data["strong"]) // _COLUMNS) * _HIGH + 8
    x = _MARGIN + _LEFT
    for kind, words, wide in (("ideal", "the number of SMs", 150), ("fixed", "fixed", 80), ("dram", "dram", 80),
                              ("roof", "dram, if its data bus were never idle", 260)):
        parts.append(f'<path class="{kind}" d="M{x} {y + 8}H{x + 24}"/><text x="{x + 30}" y="{y + 12}">{words}</text>')
        x += wide
    parts.append(f'<circle class="ridge" cx="{x}" cy="{y + 8}" r="4"/>'
                 f'<text x="{x + 10}" y="{y + 12}">bandwidth ends the ideal here</text>')
    words = ("Across: SMs. Up: the cycles of one SM, divided by those of several. Below: what 16 SMs move to and from "
             "dram, and its peak.")
    parts.append(f'<text class="soft" x="{_MARGIN + _LEFT}" y="{y + 34}">{words}</text>')
    size = {"width": 2 * _MARGIN + _COLUMNS * _WIDE, "height": y + 50}
    head = _HEAD.substitute(**size, **{f"inner_{name}": value - 1 for name, value in size.items()}, side=_SIDE + 2,
                            clip=_SIDE + 4)
    return "\n".join([head, *parts, "</svg>", ""])
