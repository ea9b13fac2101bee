"""A save file for GTKWave: the front end's signals, grouped in the order in which to read them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from vcd.gtkw import GTKWSave

from metronome.hdl.config_names import named

from .vcd import Vcd

__all__ = ["GROUPS", "write_savefile"]

#: Group -> signals below metronome_top. A name that ends with a full stop stands for all names that begin with it.
#: Signals that a configuration does not have are omitted. With several schedulers, each partition has a front end, and
#: groups of its own for that.
GROUPS: Sequence[tuple[str, Sequence[str]]] = (
    ("time", ("clk", "cycle", "start")),
    ("selection: fetch and issue", (
        "sm.frontend.event.eligible", "sm.frontend.event.select_valid", "sm.frontend.event.select_warp",
        "sm.frontend.event.select_nop", "sm.frontend.event.select_unit", "sm.frontend.event.fetch_valid",
        "sm.frontend.event.fetch_warp",
    )),
    ("lookup in the I-cache", (
        "sm.frontend.lookup__warps", "sm.frontend.lookup__pc", "sm.frontend.event.miss", "sm.frontend.event.missed",
        "sm.frontend.event.miss_line", "sm.frontend.event.request", "sm.frontend.event.request_tag",
        "sm.frontend.event.answer", "sm.frontend.event.answer_tag", "sm.frontend.event.refill",
        "sm.frontend.event.refill_line",
    )),
    ("instruction buffers", (
        "sm.frontend.occupancy[", "sm.frontend.event.buffer_empty", "sm.frontend.event.head_nop",
        "sm.frontend.event.fetch_waits", "sm.frontend.event.woken",
    )),
    ("control flow", (
        "sm.frontend.event.unresolved", "sm.frontend.event.turn", "sm.frontend.flow__resolution.",
        "sm.frontend.flow__activation.",
    )),
    ("memory port", ("req_valid", "req_ready", "resp_valid", "resp_ready")),
)
_TOP, _FRONTEND = "metronome_top", "sm.frontend"
#: Signals with this many bits or more are shown in hexadecimal.
_HEXADECIMAL = 8


def write_savefile(waveform: Path, vcd: Vcd, file: IO[str]) -> None:
    """Write the save file for a waveform whose names are in ``vcd``."""
    names = {
        ".".join((*variable.scope[variable.scope.index(_TOP) + 1 :], variable.name)): variable
        for variable in vcd.variables if _TOP in variable.scope
    }
    save = GTKWSave(file)
    save.dumpfile(str(waveform.resolve()))
    for group, wanted in _groups(names):
        with save.group(group):
            for name in _found(wanted, names):
                variable = names[name]
                decimal = variable.width < _HEXADECIMAL or name == "cycle"
                save.trace(variable.path + variable.bits, datafmt="dec" if decimal else "hex")


def _groups(names: Iterable[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the groups with their signals: those of a front end for each partition that the waveform has."""
    scopes = {".".join(name.split(".")[:2]) for name in names}
    partitions = next(count for count in itertools.count(1) if named(_FRONTEND, count) not in scopes)
    for group, wanted in GROUPS:
        if partitions == 1 or not wanted[0].startswith(_FRONTEND):
            yield group, wanted
            continue
        for partition in range(partitions):
            front = named(_FRONTEND, partition)
            yield f"{group}, partition {partition}", [front + name.removeprefix(_FRONTEND) for name in wanted]


def _found(wanted: Sequence[str], names: Sequence[str] | dict) -> Sequence[str]:
    found: list[str] = []
    for name in wanted:
        if name.endswith((".", "[")):
            found += [each for each in names if each.startswith(name)]
        elif name in names:
            found.append(name)
    return found
