"""The statistics of a region once more, in Python, from the events of every cycle (RunRequest(trace=True)).

Nothing comes from the counters of the simulation, or from the stall reasons of the hardware: each warp's reason follows
from what it issues next, what its older instructions have written, and a replay of the front end. Flags of the hardware
that are taken as they are: what a warp is (active, waiting), what the lookup stage says of an access, and, for loads,
stores and fences only, ``head_ready`` (the LSU's queue and the stores in memory are not in the probe).
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metronome.hdl.config import Coordination, SmConfig
from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.layouts.probe import LookupWait
from metronome.sim.machine.statistics import REASONS, LineAccesses, LoadLatency, RegionStatistics, WarpCycles
from tests.system.oracles import FrontEndReplay, front_rows

__all__ = ["recount"]

#: Cycles from a selection to stage X.
LOADS, STORES, FENCE, DIVIDES = (0x03, 0x07), (0x23, 0x27), 0x0F, ("div", "fdiv")


@dataclass(frozen=True)
class Instruction:
    """What the scoreboard has to know of an instruction. Registers: x1 to x31, f0 to f31 as 32 to 63."""

    unit: str
    target: int | None
    sources: frozenset[int]
    raises_flags: bool = False
    drains: bool = False

    @property
    def takes_slot(self) -> bool:
        return self.unit != "lsu" and (self.target is not None or self.raises_flags)


def decode(word: int) -> Instruction:
    """By the opcode tables of the RISC-V manual and isa.md."""
    opcode, funct3, funct7 = word & 0x7F, word >> 12 & 7, word >> 25
    rd, rs1, rs2, rs3 = word >> 7 & 31, word >> 15 & 31, word >> 20 & 31, word >> 27

    def make(unit: str, target: int | None = None, *sources: int, **flags: bool) -> Instruction:
        return Instruction(unit, target or None, frozenset(sources) - {0}, **flags)

    def float_operation() -> Instruction:
        kind = funct7 >> 2
        unit = {3: "fdiv", 0x0B: "fdiv", 0x18: "fcvt", 0x1A: "fcvt"}.get(kind, "fma" if kind < 3 else "fmisc")
        target = rd if kind in (0x14, 0x18, 0x1C) else rd + 32
        if kind in (0x1A, 0x1E):
            sources: tuple[int, ...] = (rs1,)
        else:
            sources = (rs1 + 32,) if kind in (0x0B, 0x18, 0x1C) else (rs1 + 32, rs2 + 32)
        return make(unit, target, *sources, raises_flags=True)

    simt = {0: (None, rs1), 1: (None, rs1, rs2), 2: (rd, rs1), 3: (None, rs1), 4: (None, rs1, rs2), 5: (None, rs1, rs2)}
    multiplies = "div" if funct3 >= 4 else "mul"
    table = {
        0x37: lambda: make("alu", rd), 0x17: lambda: make("alu", rd), 0x6F: lambda: make("alu", rd),
        0x67: lambda: make("alu", rd, rs1), 0x13: lambda: make("alu", rd, rs1),
        0x62: lambda: make("alu", None, rs1, rs2), 0x63: lambda: make("alu", None, rs1, rs2),
        0x33: lambda: make(multiplies if funct7 == 1 else "alu", rd, rs1, rs2),
        0x03: lambda: make("lsu", rd, rs1), 0x07: lambda: make("lsu", rd + 32, rs1),
        0x23: lambda: make("lsu", None, rs1, rs2), 0x27: lambda: make("lsu", None, rs1, rs2 + 32),
        0x0F: lambda: make("system"),
        0x73: lambda: make("csr", rd, rs1 if funct3 in (1, 2, 3) else 0, drains=word >> 20 in (1, 2, 3))
        if funct3 else make("system"),
        0x0B: lambda: make("simt", *simt[funct3]),
        0x53: float_operation,
    }
    fused = (0x43, 0x47, 0x4B, 0x4F)
    if opcode in fused:
        return make("fma", rd + 32, rs1 + 32, rs2 + 32, rs3 + 32, raises_flags=True)
    return table[opcode]()


class Warp:
    """One warp's registers under way: register -> whether a load writes it; and until when flags are raised."""

    def __init__(self) -> None:
        self.pending: dict[int, bool] = {}
        self.flags_until: list[int] = []


class Scoreboard:
    """Which heads are ready, and why not."""

    def __init__(self, config: SmConfig) -> None:
        self.warps = [Warp() for _ in range(config.warps)]
        self.latency = {
            name: getattr(config, f"latency_{name}")
            for name in ("alu", "mul", "div", "csr", "simt", "fma", "fcvt", "fdiv", "fmisc")
        }
        self.reserved: set[int] = set()
        self.to_execute = config.issue_latency
        #: With an operand register: registers by the cycle from which a result that is no load counts.
        self.releases: dict[int, tuple[int, int]] | None = {} if config.operand_register else None
        self.free_from = dict.fromkeys(DIVIDES, 0)

    def judge(self, cycle: int, warp: int, word: int, ready: int) -> StallReason:
        """The reason of this head; NONE when it is ready. ``ready`` is the hardware's word for it."""
        head, mine = decode(word), self.warps[warp]
        registers = head.sources | ({head.target} - {None})
        hazards = registers & set(mine.pending)
        if hazards:
            reason = StallReason.LOAD if any(mine.pending[register] for register in hazards) else StallReason.DATA
        elif head.drains and (mine.pending or any(until > cycle for until in mine.flags_until)):
            reason = StallReason.DRAIN
        elif word & 0x7F == FENCE and not ready:
            reason = StallReason.DRAIN
        elif (head.unit == "lsu" and not ready) or self.free_from.get(head.unit, 0) > cycle:
            reason = StallReason.UNIT
        elif head.takes_slot and cycle + self.to_execute + self.latency[head.unit] in self.reserved:
            reason = StallReason.WRITEBACK
        else:
            reason = StallReason.NONE
        assert (reason is StallReason.NONE) == bool(ready), f"cycle {cycle}, warp {warp}: {reason!r}, ready {ready}"
        return reason

    def select(self, cycle: int, warp: int, word: int) -> None:
        """An instruction is selected: it counts from the next cycle on."""
        issued, mine = decode(word), self.warps[warp]
        if issued.target is not None:
            mine.pending[issued.target] = issued.unit == "lsu"
            if self.releases is not None and issued.unit != "lsu":
                self.releases[cycle + 2 + self.latency[issued.unit]] = warp, issued.target
        elif issued.raises_flags:
            mine.flags_until.append(cycle + 2 + self.latency[issued.unit])
        if issued.takes_slot:
            self.reserved.add(cycle + self.to_execute + self.latency[issued.unit])
        if issued.unit in DIVIDES:
            self.free_from[issued.unit] = cycle + self.latency[issued.unit]

    def write(self, cycle: int, warp: int | None, register: int | None) -> None:
        """The last write of a register in this cycle, if any, seen by selections of the same cycle."""
        if self.releases is not None and cycle in self.releases:
            released, early = self.releases.pop(cycle)
            del self.warps[released].pending[early]
        if warp is not None and (self.releases is None or cycle not in self.reserved):
            del self.warps[warp].pending[register]


def next_instructions(config: SmConfig, events: np.ndarray) -> list[list[int | None]]:
    """For each warp and cycle the instruction that it is selected with next, None for a NOP or nothing any more."""
    front, issue = events["front"], events["issue"]
    heads: list[list[int | None]] = [[None] * len(events) for _ in range(config.warps)]
    current: list[int | None] = [None] * config.warps
    for cycle in reversed(range(len(events))):
        if front["select_valid"][cycle]:
            x = cycle + config.issue_latency
            executes = issue[x] if x < len(events) else None
            known = not front["select_nop"][cycle] and executes is not None
            current[front["select_warp"][cycle]] = int(executes["instruction"]) if known else None
        for warp in range(config.warps):
            heads[warp][cycle] = current[warp]
    return heads


def _state(config: SmConfig, replay: FrontEndReplay, row: dict[str, int], w: int) -> StallReason | str | None:
    """What the front end alone says of a warp; None: its head decides."""
    warp = replay.warps[w]
    missing = warp.suspended is not None or (row["missed"] and row["miss_warp"] == w)
    unified = config.coordination is Coordination.SWAS
    selected = row["select"] and row["select_warp"] == w
    states: tuple[tuple[object, StallReason | str], ...] = (
        (row["halt"] or not row["active"] >> w & 1, "inactive"),
        (selected, "nops" if row["select_nop"] else "instructions"),
        (row["waiting"] >> w & 1, StallReason.BARRIER),
        (warp.unresolved, StallReason.CONTROL),
        (missing and (unified or not warp.buffer), StallReason.ICACHE),
        (not warp.buffer, StallReason.BUFFER),
        (warp.buffer and warp.buffer[0], "not_selected"),
    )
    return next((state for holds, state in states if holds), None)


def warp_states(config: SmConfig, events: np.ndarray) -> Iterator[tuple[dict[str, int], list]]:
    """Each cycle's row and each warp's state in it, from the front end's replay and the scoreboard."""
    replay, scoreboard, heads = FrontEndReplay(config), Scoreboard(config), next_instructions(config, events)
    writes = events["wb"]
    ends = (writes["valid"] & writes["value"]["last"]).astype(bool)
    for cycle, row in enumerate(front_rows(config, events)):
        value = writes["value"][cycle]
        scoreboard.write(cycle, *((int(value["warp"]), int(value["rd"])) if ends[cycle] else (None, None)))
        states: list[StallReason | str | None] = []
        for w in range(config.warps):
            state = _state(config, replay, row, w)
            head = heads[w][cycle]
            if state is None and head is not None:
                reason = scoreboard.judge(cycle, w, head, row["head_ready"] >> w & 1)
                state = "not_selected" if reason is StallReason.NONE else reason
            states.append(state)
        yield row, states
        if row["select"] and not row["select_nop"]:
            head = heads[row["select_warp"]][cycle]
            if head is not None:
                scoreboard.select(cycle, row["select_warp"], head)
        replay.advance(cycle, row)


def warp_cycles(config: SmConfig, events: np.ndarray) -> tuple[WarpCycles, ...]:
    """Each warp's cycles of the region, by its state."""
    counts: list[defaultdict] = [defaultdict(int) for _ in range(config.warps)]
    for cycle, (row, states) in enumerate(warp_states(config, events)):
        for w, state in enumerate(states):
            if row["region"]:
                assert state is not None, f"cycle {cycle}: warp {w} issues nothing any more"
                counts[w][state] += 1
    return tuple(
        WarpCycles(
            **{name: count[name] for name in ("instructions", "nops", "not_selected", "inactive")},
            stalls={reason: count[reason] for reason in REASONS},
        )
        for count in counts
    )


def line_accesses(lookups: np.ndarray, *, store: bool) -> LineAccesses:
    """Of loads or stores, from the lookup events of a region."""
    rows = lookups[(lookups["access"] == 1) & (lookups["store"] == store)]
    hits, merges, forwards, uncached = (rows[name] == 1 for name in ("hit", "merge", "forward", "uncached"))
    if not store:
        assert (hits.astype(int) + merges + forwards + uncached <= 1).all(), "an access of two kinds"
    return LineAccesses(
        instructions=int((rows["first"] == 1).sum()), accesses=len(rows), uncached=int(uncached.sum()),
        hits=int(hits.sum()), merges=int(merges.sum()), forwards=int(forwards.sum()),
        misses=0 if store else int((~hits & ~merges & ~forwards & ~uncached).sum()),
    )


def load_latency(events: np.ndarray) -> LoadLatency:
    """Of the loads that write a register and are done in the region, whenever they began."""
    started: dict[tuple[int, int], int] = {}
    latencies = []
    for cycle, event in enumerate(events):
        issue, write = event["issue"], event["wb"]
        if issue["valid"] and int(issue["instruction"]) & 0x7F in LOADS:
            target = decode(int(issue["instruction"])).target
            if target is not None:
                started[int(issue["warp"]), target] = cycle
        key = int(write["value"]["warp"]), int(write["value"]["rd"])
        if write["valid"] and write["value"]["last"] and key in started:
            since = started.pop(key)
            if event["control"]["region"]:
                latencies.append(cycle - since)
    histogram = [sum(1 << number <= latency < 2 << number for latency in latencies) for number in range(64)]
    return LoadLatency(total=sum(latencies), maximum=max(latencies, default=0), histogram=tuple(histogram))


def recount(config: SmConfig, events: np.ndarray) -> RegionStatistics:
    """All of it. The last record, of the cycle in which the program has ended, is not counted."""
    events = events[:-1]
    lookups = events["lookup"][events["control"]["region"] == 1]
    waits = [reason for reason in LookupWait if reason is not LookupWait.NONE]
    return RegionStatistics(
        loads=line_accesses(lookups, store=False), stores=line_accesses(lookups, store=True),
        waits={reason: int((lookups["wait"] == reason).sum()) for reason in waits},
        load_latency=load_latency(events), warps=warp_cycles(config, events),
    )
