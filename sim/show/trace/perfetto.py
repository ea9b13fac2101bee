"""A trace for Perfetto: the SM as a process, its warps as threads, and tracks for the SM, memory and counters.

Source: perfetto.dev, "Track events" and protos/perfetto/trace/track_event. A cycle is one nanosecond. Slices on a track
never overlap: each tag of the memory port has its own track. Packets are not in time order, because readers sort them;
ends are written first, so that at the same time one slice ends before the next begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import IO

import numpy as np

from metronome.hdl.config import LINE_BYTES, Coordination, SmConfig

from ...build.origin import line, origin
from ...machine.events import NONE
from ...program.assembler.disassembly import disassemble
from .about import About
from .cycles import Cycles
from .packets import COUNTER, Packets, annotation
from .places import place_of
from .profile import USES
from .protobuf import double, fixed, number, text
from .rows import OUTCOMES, SOURCES, outcomes_of, sources_of
from .tracks import WARP_WORDS, Part, Tracks, name_of

__all__ = ["PIDS", "TRACKS", "PerfettoTrace"]

#: Several SMs: the distances of their processes, and of their tracks.
PIDS, TRACKS = 100, 1 << 16
#: Cycles over which a value of the warp IPC is averaged.
_WINDOW = 64
_LAST_NOP = USES.index("nop_redirect") + 1
_LOAD_MISSES = tuple(OUTCOMES.index(name) for name in ("load_miss", "load_uncached"))
_ORACLES = ("osched1", "osched2")
_COUNTERS = (("write buffer", "entries"), ("reads under way", "lines"))


def _is_stall(states: np.ndarray) -> np.ndarray:
    return (states > _LAST_NOP) & (states <= len(USES))


class PerfettoTrace:
    """A trace for ui.perfetto.dev and trace_processor. ``file`` is a binary file.

    ``sm``: one of several, whose traces are in one file; each is a process. That of SM 0 begins first.
    """

    def __init__(self, config: SmConfig, file: IO[bytes], about: About, *, sm: int | None = None) -> None:
        self._config, self._file, self._about, self._sm = config, file, about, sm
        # Without the transfers at its port, those of an SM of a GPU are not known.
        self._counters = _COUNTERS if sm is None else ()
        place = sm or 0
        self._packets, self._pid, self._process = Packets(1 + place), 1 + PIDS * place, 1 + TRACKS * place
        # In swas their selections are the scheduler's own.
        self._shows_oracles = config.oracles and config.coordination is not Coordination.SWAS

    def begin(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        if not self._sm:
            self._file.seek(0)
            self._file.truncate()
        self._tracks = Tracks(self._config, port=self._sm is None)
        #: Numbers of the names of slices and of source lines, and those not yet written.
        self._names: dict[str, int] = {}
        self._sources: dict[str, int] = {}
        self._new: list[bytes] = []
        #: For each instruction by its number in the tracks: its name and its source line.
        self._code_names, self._code_sources = [self._name("(never executed)")], [self._source("(never executed)")]
        self._uses = np.array([0, *(self._name(word) for word in WARP_WORDS)])
        self._header()
        #: The last state of each row (the warps and the SM), and the last values of the counters.
        self._states = np.zeros(len(self._rows), np.uint8)
        self._values = np.full(len(self._counters), NONE)
        self._ipc = -1.0
        self._cycle = 0
        #: By line: the flow of a load that misses, or of a store. By track: whether a request is in progress.
        self._flows: dict[int, int] = {}
        self._flow = (self._sm or 0) << 32
        self._open: dict[int, bool] = {}
        self._region = False
        self._picks = dict.fromkeys(self._oracles, NONE)

    def take(self, partitions: Sequence[Cycles]) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        part = self._tracks.of(partitions)
        for pc, word in self._tracks.codes[len(self._code_names) :]:
            self._code_names.append(self._name(disassemble(word, pc)))
            self._code_sources.append(self._source(place_of(self._about.image, pc).line))
        ends: list[bytes] = []
        begins: list[bytes] = []
        self._waits(part, ends, begins)
        for cycles in partitions:
            self._selections(cycles, part, ends, begins)
        self._measured(partitions[0], ends, begins)
        self._memory(partitions[0].events, ends, begins)
        for cycles in partitions:
            self._picked(cycles, ends, begins)
        self._count(part, begins)
        self._tell_names()
        self._file.writelines(ends)
        self._file.writelines(begins)
        self._cycle += len(part)

    def finish(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        waiting = self._rows[_is_stall(self._states)].tolist()
        under_way = [track for track, is_open in self._open.items() if is_open]
        picking = [self._fixed[name] for name, pick in self._picks.items() if pick != NONE]
        for track in [*waiting, *under_way, *picking, *([self._fixed["measured region"]] if self._region else [])]:
            self._file.write(self._packets.end(self._cycle, track))

    def _header(self) -> None:
        """Write the process, its tracks, and the names of categories and annotations."""
        facts = [*self._about.facts, ("made by", line(origin()))]
        labels = b"".join(text(8, f"{name}: {fact}") for name, fact in facts)
        name = self._about.name + ("" if self._sm is None else f", SM {self._sm}")
        process = number(1, self._pid) + text(6, name) + labels
        self._file.write(text(1, text(60, number(1, self._process) + text(3, process))))
        self._file.write(self._packets.first())
        self._next_track = self._process + 1
        rows = []
        for warp in range(self._config.warps):
            thread = number(1, self._pid) + number(2, self._pid + 1 + warp) + text(5, f"warp {warp}")
            rows.append(self._describe(text(4, thread)))
        slots = [name_of(self._tracks.states[slot]) for slot in self._tracks.slots]
        fixed = (*slots, "measured region", "load/store", "fills")
        self._fixed = {name: self._describe_child(name) for name in fixed}
        #: The tracks of the warps and of the schedulers, and their rows in the picture.
        self._rows = np.array([*rows, *(self._fixed[name] for name in slots)])
        self._places = [*range(self._config.warps), *self._tracks.slots]
        #: The tracks of the oracles: for each its field in EVENT, and its partition.
        self._oracles: dict[str, tuple[str, int]] = {}
        if self._shows_oracles:
            for partition, slot in enumerate(self._tracks.slots):
                track = self._tracks.states[slot]
                self._oracles |= {name_of(replace(track, name=name)): (name, partition) for name in _ORACLES}
            self._fixed |= {name: self._describe_child(name) for name in self._oracles}
        for name, unit in (("warp IPC", "warp-instructions per cycle"), *self._counters):
            self._fixed[name] = self._describe_child(name, text(8, text(6, unit)))
        #: By sender and tag.
        self._requests: dict[tuple[int, int], int] = {}

    def _describe(self, what: bytes) -> int:
        track = self._next_track
        self._next_track += 1
        self._file.write(text(1, text(60, number(1, track) + what)))
        return track

    def _describe_child(self, name: str, more: bytes = b"") -> int:
        return self._describe(text(2, name) + number(5, self._process) + more)

    def _name(self, name: str) -> int:
        if name not in self._names:
            self._names[name] = len(self._names) + 1
            self._new.append(text(2, number(1, self._names[name]) + text(2, name)))
        return self._names[name]

    def _source(self, line: str) -> int:
        if line not in self._sources:
            self._sources[line] = len(self._sources) + 1
            self._new.append(text(29, number(1, self._sources[line]) + text(2, line)))
        return self._sources[line]

    def _tell_names(self) -> None:
        if self._new:
            self._file.write(self._packets.names(self._new))
            self._new = []

    def _waits(self, part: Part, ends: list[bytes], begins: list[bytes]) -> None:
        """Add a slice for each reason to wait, on the tracks of the warps and of the schedulers."""
        now = part.states[self._places].T
        then = np.concatenate([self._states[None], now[:-1]])
        self._states = now[-1].copy()
        at, row = np.nonzero((now != then) & _is_stall(then))
        ends.append(self._packets.fill("end", time=self._cycle + at, track=self._rows[row]))
        at, row = np.nonzero((now != then) & _is_stall(now))
        begins.append(self._packets.fill(
                "stall", time=self._cycle + at, track=self._rows[row], name=self._uses[now[at, row]]
        ))

    def _selections(self, cycles: Cycles, part: Part, ends: list[bytes], begins: list[bytes]) -> None:
        """Add a slice for each issue and NOP of the partition on the tracks of its warps."""
        warps = part.states[: self._config.warps].T
        selected = cycles.events["selected"]
        at = np.flatnonzero(selected != NONE)
        warp = selected[at]
        ends.append(self._packets.fill("end", time=self._cycle + at + 1, track=self._rows[warp]))
        issued = warps[at, warp] == 1
        nop_at, nop_warp, at, warp = at[~issued], warp[~issued], at[issued], warp[issued]
        codes, lanes = part.codes[cycles.partition, at], part.lanes[cycles.partition, at]
        begins.append(self._packets.fill(
                "issue", time=self._cycle + at, track=self._rows[warp], name=np.array(self._code_names)[codes],
            pc=np.maximum(cycles.pc[at], 0), lanes=lanes, source=np.array(self._code_sources)[codes],
        ))
        begins.append(self._packets.fill(
                "nop", time=self._cycle + nop_at, track=self._rows[nop_warp], name=self._uses[warps[nop_at, nop_warp]]
        ))

    def _measured(self, cycles: Cycles, ends: list[bytes], begins: list[bytes]) -> None:
        """Add the measured region."""
        region = np.diff(np.concatenate([cycles.before["region"], cycles.events["region"]]))
        track = self._fixed["measured region"]
        for place in np.flatnonzero(region).tolist():
            self._region = bool(region[place] > 0)
            if self._region:
                begins.append(self._packets.begin("region", self._cycle + place, track, self._name("measured region")))
            else:
                ends.append(self._packets.end(self._cycle + place, track))

    def _memory(self, events: np.ndarray, ends: list[bytes], begins: list[bytes]) -> None:
        """Add accesses to lines, and requests from their acceptance until their answer is taken.

        Flows lead from an access that misses to its request, and from the request to the fill.
        """
        asks, answers = events["port_tag"] != NONE, events["port_answer"] != NONE
        busy = np.flatnonzero(asks | answers | (events["access"] != 0) | (events["fill"] != 0))
        chosen = events[busy]
        outcomes = outcomes_of(chosen)
        senders, answered = (sources_of(self._config, chosen[name]) for name in ("port_tag", "port_answer"))
        for place, (at, event) in enumerate(zip(busy.tolist(), chosen, strict=True)):
            cycle = self._cycle + at
            if event["port_answer"] != NONE:
                track = self._request_track(int(answered[place]), int(event["port_answer"]))
                if self._open.get(track):
                    ends.append(self._packets.end(cycle, track))
                self._open[track] = False
            if event["access"]:
                begins.append(self._access(event, int(outcomes[place]), cycle))
                ends.append(self._packets.end(cycle + 1, self._fixed["load/store"]))
            if event["port_tag"] != NONE:
                sender, line = int(senders[place]), int(event["port_line"])
                track = self._request_track(sender, int(event["port_tag"]))
                flow = b"" if sender == 0 or line not in self._flows else fixed(47, self._flows[line])
                name = self._name(SOURCES[sender])
                more = annotation("address", 7, line * LINE_BYTES) + flow
                begins.append(self._packets.begin("memory", cycle, track, name, more))
                self._open[track] = True
            if event["fill"]:
                line = int(event["fill_line"])
                flow = fixed(48, self._flows.pop(line)) if line in self._flows else b""
                more = annotation("address", 7, line * LINE_BYTES) + flow
                begins.append(self._packets.begin("memory", cycle, self._fixed["fills"], self._name("fill"), more))
                ends.append(self._packets.end(cycle + 1, self._fixed["fills"]))

    def _picked(self, cycles: Cycles, ends: list[bytes], begins: list[bytes]) -> None:
        """Add the warp that each oracle would select, with one slice for as long as it is the same warp."""
        for name, (field, partition) in self._oracles.items():
            if partition != cycles.partition:
                continue
            now = cycles.events[field]
            then = np.concatenate([[self._picks[name]], now[:-1]])
            self._picks[name] = int(now[-1])
            warps = np.array([self._name(f"warp {warp}") for warp in range(self._config.warps)])
            over, new = np.flatnonzero((now != then) & (then != NONE)), np.flatnonzero((now != then) & (now != NONE))
            track = self._fixed[name]
            ends.append(self._packets.fill("end", time=self._cycle + over, track=np.full(len(over), track)))
            begins.append(self._packets.fill(
                "oracle", time=self._cycle + new, track=np.full(len(new), track), name=warps[now[new]]
            ))

    def _access(self, event: np.void, outcome: int, cycle: int) -> bytes:
        line, flow = int(event["line"]), b""
        if outcome in _LOAD_MISSES or (event["store"] and not event["merge"]):
            self._flow += 1
            self._flows[line] = self._flow
            flow = fixed(47, self._flow)
        name = self._name(f"{OUTCOMES[outcome]} of warp {int(event['access_warp'])}")
        more = annotation("address", 7, line * LINE_BYTES) + flow
        return self._packets.begin("memory", cycle, self._fixed["load/store"], name, more)

    def _request_track(self, sender: int, tag: int) -> int:
        """Return the track of a tag and its sender; a tag is described on first use."""
        if (sender, tag) not in self._requests:
            count = sum(its == sender for its, _ in self._requests)
            self._requests[sender, tag] = self._describe_child(f"memory: {SOURCES[sender]} {count}")
        return self._requests[sender, tag]

    def _count(self, part: Part, begins: list[bytes]) -> None:
        """Add counters where they change, and the warp IPC over windows."""
        for place, (name, _) in enumerate(self._counters):
            values = part.numbers[place].astype(np.int64)
            changed = np.flatnonzero(np.diff(values, prepend=self._values[place]))
            self._values[place] = values[-1]
            track = np.full(len(changed), self._fixed[name])
            begins.append(self._packets.fill("count", time=self._cycle + changed, track=track, value=values[changed]))
        issued = (part.states[self._tracks.slots] == 1).sum(axis=0)
        for first in range(0, len(part), _WINDOW):
            ipc = float(issued[first : first + _WINDOW].mean())
            if ipc != self._ipc:
                self._ipc = ipc
                content = number(9, COUNTER) + number(11, self._fixed["warp IPC"]) + double(44, ipc)
                begins.append(self._packets.packet(content, self._cycle + first))
