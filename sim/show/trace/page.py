"""A run as one self-contained HTML page: a picture of the schedule, and how the cycles were used.

The page stores the run in blocks (:mod:`sim.show.trace.levels`), each compressed separately, so it opens at once even
for a long run. The viewer is in ``viewer/``. It draws with D3, which is vendored there.
"""

from __future__ import annotations

import base64
import functools
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import jinja2
import numpy as np
from markupsafe import Markup

from metronome.hdl.config import SmConfig

from ...build.origin import line, maker, origin
from ...machine.events import NONE
from ...program.assembler.disassembly import disassemble
from ...program.elf import ElfImage
from ..drawing.palette import css_variables
from .about import About
from .chain import Chain
from .cycles import Cycles
from .legend import LEGEND
from .levels import BLOCK, Levels
from .places import Place, SourceText, place_of
from .profile import USES, Profile
from .tracks import Part, Tracks

__all__ = ["HtmlTrace", "PageRun", "RunData", "block_line", "page_head", "page_tail"]

_VIEWER = Path(__file__).with_name("viewer")
_SCRIPTS = ("blocks.js", "drawing.js", "timeline.js", "profile.js", "main.js")
#: A fast level; for such regular data it compresses hardly worse than the best.
_COMPRESSION = 6


class RunData:
    """The data on the page about a run besides its blocks; :meth:`as_json` is complete when the run is over."""

    def __init__(self, config: SmConfig, about: About, *, port: bool = True) -> None:
        self._config, self._about = config, about
        self.tracks = Tracks(config, port=port)
        #: For each block, how many instructions each warp has issued before it.
        self._before: list[list[int]] = []
        self._issued = np.zeros(config.warps, np.int64)
        self._regions: list[list[int]] = []
        self._greatest = np.zeros(len(self.tracks.numbers), np.int64)
        self._used = [np.zeros(len(track.words) + 1, bool) for track in self.tracks.states]
        self.cycles = 0

    def take(self, cycles: Cycles, part: Part) -> None:
        """Take the next cycles: those of a partition, and the rows of all."""
        for place in range(-(-self.cycles // BLOCK) * BLOCK - self.cycles, len(part), BLOCK):
            before = (part.states[: self._config.warps, :place] == 1).sum(axis=1)
            self._before.append((self._issued + before).tolist())
        self._issued += (part.states[: self._config.warps] == 1).sum(axis=1)
        self._greatest = np.maximum(self._greatest, part.numbers.max(axis=1))
        for used, row in zip(self._used[self._config.warps :], part.states[self._config.warps :], strict=True):
            used[row] = True
        region = np.diff(np.concatenate([cycles.before["region"], cycles.events["region"]]))
        for at in np.flatnonzero(region).tolist():
            if region[at] > 0:
                self._regions.append([self.cycles + at, NONE])
            else:
                self._regions[-1][1] = self.cycles + at
        self.cycles += len(part)

    def as_json(self, profile: Profile, chain: Chain, rows: int) -> dict[str, Any]:
        """The JSON, with names as in viewer/blocks.js. ``rows``: how many numbers a bin has."""
        for region in self._regions:
            region[1] = self.cycles if region[1] == NONE else region[1]
        places = _Places(self._about.image)
        codes = [
            [pc, disassemble(word, pc) if pc != NONE else "", word, places.number(pc)] for pc, word in self.tracks.codes
        ]
        states, numbers = self.tracks.states, self.tracks.numbers
        of_profile = _Places(self._about.image)
        cells = [[cell.warp, of_profile.number(cell.pc), USES.index(cell.use), cell.cycles] for cell in profile.cells()]
        return {
            "name": self._about.name, "facts": self._about.facts,
            "cycles": self.cycles, "warps": self._config.warps, "threads": self._config.threads, "rows": rows,
            "to_unit": self._config.issue_latency,
            **({"schedulers": self._config.schedulers} if self._config.schedulers > 1 else {}),
            "states": [
                {"name": track.name, "group": track.group, "words": track.words}
                | ({} if track.partition is None else {"partition": track.partition})
                for track in states
            ],
            "numbers": [{"name": track.name, "group": track.group, "most": track.most} for track in numbers],
            "used": [
                [word for word, used in zip(track.words, used[1:], strict=True) if used]
                for track, used in zip(states, self._used, strict=True)
            ],
            "greatest": self._greatest.tolist(), "regions": self._regions, "before": self._before,
            "codes": codes, "places": places.rows,
            "chain": chain.links,
            "profile": {"uses": USES, "places": of_profile.rows, "cells": cells},
        }


class _Places:
    """Source lines and their functions, by number."""

    def __init__(self, image: ElfImage) -> None:
        self._image, self._text = image, SourceText(image)
        self._numbers: dict[Place, int] = {}
        self._of_pc: dict[int, int] = {}
        self.rows: list[dict[str, Any]] = []

    def number(self, pc: int) -> int:
        """Return the number of a pc's place."""
        if pc not in self._of_pc:
            place = place_of(self._image, pc)
            row = {
                "line": place.line, "own": place.function, "frames": place.frames, "text": self._text.of(place.line),
            }
            self._of_pc[pc] = self._numbers.setdefault(place, len(self.rows))
            if self._of_pc[pc] == len(self.rows):
                self.rows.append(row)
        return self._of_pc[pc]


class PageRun:
    """One run on a page, written to ``file`` block by block. ``number``: its position on the page.

    ``sm``: the run belongs to an SM of a GPU. Then the transfers at its memory port are not known, nor what its warps
    wait for in other SMs.
    """

    def __init__(self, config: SmConfig, file: IO[bytes], about: About, number: int = 0, *, sm: bool = False) -> None:
        self._config, self._file, self._about, self._number, self._sm = config, file, about, number, sm

    def begin(self) -> None:
        """Start a run."""
        self._data = RunData(self._config, self._about, port=not self._sm)
        self._profile, self._chain = Profile(self._config), Chain(self._config)
        self._profile.begin()
        self._chain.begin()
        self._levels = Levels(self._data.tracks, self._put)

    def take(self, partitions: Sequence[Cycles]) -> None:
        """Take the next cycles; see :class:`sim.show.trace.cycles.Sink`."""
        part = self._data.tracks.of(partitions)
        self._data.take(partitions[0], part)
        self._profile.take(partitions)
        self._chain.take(partitions)
        self._levels.add(part)

    def finish(self) -> dict[str, Any]:
        """End the run, and return its data besides the blocks."""
        self._levels.finish()
        self._profile.finish()
        data = self._data.as_json(self._profile, self._chain, self._levels.rows) | {"origin": origin()}
        return data | {"sm": self._number, "chain": []} if self._sm else data

    def _put(self, level: int, number: int, content: bytes) -> None:
        text = base64.b64encode(zlib.compress(content, _COMPRESSION))
        self._file.write(block_line(self._number, level, number, text))


class HtmlTrace:
    """A sink of cycles that writes the page of a run. ``file`` is a binary file."""

    def __init__(self, config: SmConfig, file: IO[bytes], about: About) -> None:
        self._file, self._about = file, about
        self._run = PageRun(config, file, about)

    def begin(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        self._file.seek(0)
        self._file.truncate()
        self._file.write(page_head(self._about.name, [self._about.facts], [origin()]))
        self._run.begin()

    def take(self, partitions: Sequence[Cycles]) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        self._run.take(partitions)

    def finish(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        self._file.write(page_tail([self._run.finish()], None))


@functools.cache
def _halves() -> tuple[jinja2.Template, jinja2.Template]:
    """The parts of the page before and after the data."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    text = (_VIEWER / "page.html.jinja").read_text(encoding="utf-8")
    head, _, tail = text.partition("{# data #}")
    return environment.from_string(head), environment.from_string(tail)


def page_head(
    title: str, runs: Sequence[Sequence[Sequence[str]]], origins: Sequence[Mapping[str, Any] | None], *,
    sms: bool = False,
) -> bytes:
    """Return the page up to the blocks. For each run, ``runs``: (name, value) pairs of facts; ``origins``: its record.

    A record is that of :mod:`sim.build.origin`; None if an older page has none. ``sms``: the runs are those of the SMs
    of a GPU; otherwise, two are compared.
    """
    made = [(record.get("command") or "", f"Metronome {maker(record)}") if record else ("", "") for record in origins]
    text = _halves()[0].render(
        title=title, runs=list(zip(runs, made, strict=True)), foot=line(origin()), legend=LEGEND, sms=sms,
        names=[f"SM {number}" for number in range(len(runs))] if sms else "AB", compares=len(runs) > 1 and not sms,
        css=Markup((_VIEWER / "viewer.css").read_text(encoding="utf-8")),
        light=Markup(css_variables(False)), dark=Markup(css_variables(True)),
    )
    return text.encode()


def block_line(run: int, level: int, number: int, text: bytes) -> bytes:
    """Return a block as one line; ``text`` is Base64."""
    head = f'<script type="text/plain" data-run="{run}" data-level="{level}" data-block="{number}">'
    return head.encode() + text + b"</script>\n"


def page_tail(runs: Sequence[Mapping[str, Any]], difference: Mapping[str, Any] | None) -> bytes:
    """Return the page after the blocks: the other data of the runs, and the viewer."""
    words = {word: sign._asdict() for signs in LEGEND.values() for word, sign in signs.items()}
    text = _halves()[1].render(
        runs=[_json(run) for run in runs], words=_json(words), difference=_json(difference),
        d3=Markup((_VIEWER / "vendor" / "d3.min.js").read_text(encoding="utf-8")),
        script=Markup("\n".join((_VIEWER / name).read_text(encoding="utf-8") for name in _SCRIPTS)),
    )
    return text.encode()


def _json(value: Any) -> Markup:
    """Return JSON on one line, safe inside a script element."""
    return Markup(json.dumps(value, separators=(",", ":")).replace("<", "\\u003c"))
