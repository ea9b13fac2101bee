"""The oracles once more, in Python: picks recomputed from the events of a run (docs/policies.md, "The oracles")."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metronome.hdl.config import Coordination, Prediction, SmConfig
from metronome.sim.machine.policies.plain import POLICIES, PolicyInputs
from metronome.sim.run.types import RunResult

__all__ = ["CyclePicks", "FrontEndReplay", "front_rows", "oracle_differences", "oracle_picks"]

#: Opcodes: the branches and jalr, jal, the SIMT instructions (funct3 0 to 5); opcode and funct3 of fence.i (isa.md).
_BRANCHES, _JAL, _SIMT, _FENCE_I = (0x62, 0x63, 0x67), 0x6F, 0x0B, 0x100F
#: Before any event: no excuse reaches from here to cycle 0.
_NEVER = -1_000_000


#: What the replay reads of a cycle, by its own names, and where the probe has it.
_READ: dict[str, tuple[str, ...]] = {
    **{name: ("front", name) for name in (
        "select_warp", "select_nop", "fetch_warp", "missed", "miss", "miss_warp", "miss_line", "woken", "refill_line",
        "turn",
    )},
    "select": ("front", "select_valid"), "fetch": ("front", "fetch_valid"), "head_ready": ("issue", "head_ready"),
    "active": ("control", "active"), "waiting": ("control", "waiting"), "activate": ("control", "activation", "warps"),
    "resolve": ("control", "resolution", "valid"), "resolve_warp": ("control", "resolution", "warp"),
    "redirect": ("control", "resolution", "redirect"), "region": ("control", "region"), "halt": ("sm", "halt"),
}


@dataclass(frozen=True)
class CyclePicks:
    """One cycle: the issue scheduler's set (bit w for warp w), and who is picked from it and from the oracles' sets.

    ``fetchable`` and ``fetched``: the same of the fetch scheduler of a baseline, else 0 and None.
    """

    cycle: int
    eligible: int
    selected: int | None
    osched1: int | None
    osched2: int | None
    fetchable: int
    fetched: int | None


@dataclass
class _Fetch:
    """A fetch under way."""

    warp: int
    squashed: bool = False


class _Warp:
    """What the front end holds of one warp.

    ``buffer``: whether each entry is a NOP, the head first. ``suspended``: the line that it waits for. ``excuse``: the
    last cycle in which a miss of its own was served or its flow was redirected.
    """

    def __init__(self, nops: int) -> None:
        self.buffer = deque([True] * nops)
        self.suspended: int | None = None
        self.unresolved = False
        self.excuse = _NEVER


class FrontEndReplay:
    """The front end as the events of the probe tell it: fetches, lookups that miss, answers, redirects, selections.

    Buffers, flight, NOPs, suspension, unresolved control flow and excuses follow from the events alone. Flags of the
    hardware that are taken as they are: ``head_ready`` (the scoreboard's; it needs the whole back end), ``active``
    and ``waiting`` (what SIMT instructions make of the warps), and ``halt``.
    """

    def __init__(self, config: SmConfig) -> None:
        self._replaces = config.coordination is Coordination.SWAS
        self._depth = config.buffer_depth
        self._follows_jal = config.prediction is Prediction.BTFN
        self.warps = [_Warp(self._depth if self._replaces else 0) for _ in range(config.warps)]
        #: The fetches made in the last cycle, the one before, ...
        self.flight: deque[_Fetch | None] = deque([None] * config.fetch_latency)
        self._waiting = 0

    def sets(self, cycle: int, row: dict[str, int]) -> tuple[int, int, int]:
        """The set of the issue scheduler, of osched1 and of osched2 in this cycle."""
        eligible = widened = excused = 0
        for w, warp in enumerate(self.warps):
            missing = warp.suspended is not None or (row["missed"] and row["miss_warp"] == w)
            out = warp.unresolved or row["halt"] or (self._replaces and missing)
            if out or not row["active"] >> w & 1:
                continue
            if not warp.buffer:
                widened |= 1 << w
                excused |= (missing or cycle - warp.excuse <= self._depth) << w
            elif warp.buffer[0] or row["head_ready"] >> w & 1:
                eligible |= 1 << w
        return eligible, eligible | widened, eligible | widened & ~excused

    def fetched(self) -> tuple[int, ...]:
        """Instructions fetched and not issued, NOPs left out."""
        flight = [fetch.warp for fetch in self.flight if fetch is not None and not fetch.squashed]
        return tuple(warp.buffer.count(False) + flight.count(w) for w, warp in enumerate(self.warps))

    def fetchable(self, row: dict[str, int]) -> int:
        """The set of a baseline's fetch scheduler."""
        found = 0
        for w, (warp, held) in enumerate(zip(self.warps, self.fetched(), strict=True)):
            if warp.suspended is None and held < self._depth and not row["halt"]:
                found |= row["active"] & 1 << w
        return found & ~(row["missed"] << row["miss_warp"])

    def advance(self, cycle: int, row: dict[str, int]) -> None:
        """Take in the events of a cycle.

        Raises
        ------
        ValueError
            For events that cannot be: a pop from an empty buffer, a miss without a lookup.
        """
        redirected = row["redirect"] << row["resolve_warp"] if row["resolve"] else 0
        if row["missed"]:
            lookup = self.flight[0]
            if lookup is None or lookup.squashed or lookup.warp != row["miss_warp"]:
                raise ValueError(f"cycle {cycle}: a lookup of warp {row['miss_warp']} misses, but there is none")
            lookup.squashed = True
        if row["select"]:
            self._pop(cycle, row)
        self._fill(self.flight.pop(), redirected)
        self.flight.appendleft(_Fetch(row["fetch_warp"]) if row["fetch"] else None)
        self._redirect(cycle, redirected, row["turn"])
        self._suspend(cycle, row)
        self._resolve(row)

    def _pop(self, cycle: int, row: dict[str, int]) -> None:
        warp = self.warps[row["select_warp"]]
        if not warp.buffer:
            raise ValueError(f"cycle {cycle}: warp {row['select_warp']} is selected, but its buffer is empty")
        if not warp.buffer.popleft() and self._is_control(row["issued"]):
            warp.unresolved = True

    def _is_control(self, instruction: int) -> bool:
        opcode = instruction & 0x7F
        return (
            opcode in _BRANCHES
            or (opcode == _JAL and not self._follows_jal)
            or (opcode == _SIMT and instruction >> 12 & 7 <= 5)
            or instruction & 0x707F == _FENCE_I
        )

    def _fill(self, fetch: _Fetch | None, redirected: int) -> None:
        if fetch is None:
            return
        dropped = fetch.squashed or redirected >> fetch.warp & 1
        if self._replaces:
            self.warps[fetch.warp].buffer.append(bool(dropped))
        elif not dropped:
            self.warps[fetch.warp].buffer.append(False)

    def _redirect(self, cycle: int, redirected: int, turned: int) -> None:
        """A resolution takes what is in the buffer and in flight, a jump followed at decode what is in flight."""
        squashed = redirected | turned
        for fetch in self.flight:
            if fetch is not None and squashed >> fetch.warp & 1:
                fetch.squashed = True
        for w, warp in enumerate(self.warps):
            if redirected >> w & 1:
                warp.buffer = deque([True] * len(warp.buffer) if self._replaces else [])
            if squashed >> w & 1:
                warp.suspended = None
                warp.excuse = cycle

    def _suspend(self, cycle: int, row: dict[str, int]) -> None:
        if row["miss"]:
            self.warps[row["miss_warp"]].suspended = row["miss_line"]
        for w, warp in enumerate(self.warps if row["woken"] else ()):
            if row["woken"] >> w & 1 and warp.suspended == row["refill_line"]:
                warp.suspended = None
                warp.excuse = cycle

    def _resolve(self, row: dict[str, int]) -> None:
        # A bar or wspawn is over for the front end in the cycle after the last one of waiting.
        over = self._waiting & ~row["waiting"]
        self._waiting = row["waiting"]
        if row["resolve"]:
            over |= 1 << row["resolve_warp"]
        for w, warp in enumerate(self.warps):
            if over >> w & 1:
                warp.unresolved = False


def front_rows(config: SmConfig, events: np.ndarray) -> Iterator[dict[str, int]]:
    """What :class:`FrontEndReplay` reads of each cycle, and ``issued``: the instruction selected in this cycle."""
    columns = dict.fromkeys(_READ, events)
    for name, path in _READ.items():
        for part in path:
            columns[name] = columns[name][part]
    front = events["front"]
    nothing, control = np.zeros(len(events), np.int64), events["control"]
    columns["lost"] = front["lost"] if "lost" in (front.dtype.names or ()) else nothing
    columns["change"] = control["change"] if "change" in (control.dtype.names or ()) else nothing
    columns["issued"] = np.zeros(len(events), np.uint32)
    issue = events["issue"][config.issue_latency:]
    columns["issued"][: len(issue)] = np.where(issue["valid"], issue["instruction"], 0)
    for values in zip(*(column.tolist() for column in columns.values()), strict=True):
        yield dict(zip(columns, values, strict=True))


def _lanes(config: SmConfig, events: np.ndarray) -> np.ndarray:
    """Active lanes of each warp (cycles, warps), from what it issues.

    A thread mask changes only when a SIMT instruction of the warp is in X, or at its activation, which is long before
    its next instruction is there. So in every cycle it is the mask of the first instruction that gets to X from then
    on; a warp that issues nothing any more has none.
    """
    lanes = np.zeros((len(events), config.warps), np.int64)
    issue = events["issue"]
    for cycle in np.flatnonzero(issue["valid"]).tolist():
        lanes[cycle, issue["warp"][cycle]] = int(issue["mask"][cycle]).bit_count()
    for cycle in range(len(events) - 2, -1, -1):
        lanes[cycle] = np.where(lanes[cycle] != 0, lanes[cycle], lanes[cycle + 1])
    return lanes


class _Scheduler:
    """A scheduler of the front end: its policy and its state, in Python."""

    def __init__(self, config: SmConfig, policy: str) -> None:
        self._policy: Any = POLICIES[policy].of(config)
        self._state = self._policy.reset()
        self.reads = self._policy.reads

    def pick(self, inputs: PolicyInputs, among: int) -> int | None:
        """The warp that it would choose from ``among``."""
        found: int | None = self._policy.pick(self._state, replace(inputs, eligible=among))
        return found

    def step(self, inputs: PolicyInputs, among: int) -> int | None:
        """The warp that it chooses from ``among`` in this cycle."""
        selected = self.pick(inputs, among)
        self._state = self._policy.update(self._state, replace(inputs, eligible=among), selected)
        return selected


def oracle_picks(
    config: SmConfig, policy: str, events: np.ndarray, fetch_policy: str | None = None,
) -> Iterator[CyclePicks]:
    """What the schedulers and the two oracles pick in every cycle, recomputed.

    Everything but the scoreboard's judgement of the heads and the warps' activity follows from the events, the picks
    from :mod:`sim.machine.policies.plain`; nothing is taken from the hardware's own sets, picks or excuses.

    Parameters
    ----------
    policy
        That of the issue scheduler in the run.
    events
        Every cycle of a run (``RunRequest(trace=True)``), from its launch on.
    fetch_policy
        That of the fetch scheduler, which is recomputed of a baseline only.

    Raises
    ------
    ValueError
        For events that no front end could have (also a selection that is not the recomputed one, where it pops an
        empty buffer).
    """
    front_end, issuing = FrontEndReplay(config), _Scheduler(config, policy)
    fetching = None
    if fetch_policy is not None and config.coordination is Coordination.BASELINE:
        fetching = _Scheduler(config, fetch_policy)
    reads = {*issuing.reads, *(fetching.reads if fetching else ())}
    lanes = _lanes(config, events) if "lanes" in reads else None
    for cycle, row in enumerate(front_rows(config, events)):
        eligible, *widened = front_end.sets(cycle, row)
        inputs = PolicyInputs(
            eligible=eligible, active=row["active"], waiting=row["waiting"], activated=row["activate"],
            lanes=() if lanes is None else tuple(lanes[cycle].tolist()), fetched=front_end.fetched(),
            lost=row["lost"], change=row["change"],
        )
        osched1, osched2 = (issuing.pick(inputs, among) for among in widened)
        fetchable, fetched = 0, None
        if fetching is not None:
            fetchable = front_end.fetchable(row)
            fetched = fetching.step(inputs, fetchable)
        yield CyclePicks(cycle, eligible, issuing.step(inputs, eligible), osched1, osched2, fetchable, fetched)
        front_end.advance(cycle, row)


def _warp(mask: int) -> int | None:
    """The warp of a one-hot mask."""
    return mask.bit_length() - 1 if mask else None


def oracle_differences(config: SmConfig, policy: str, result: RunResult, fetch_policy: str | None = None) -> list[str]:
    """Where the hardware and the recomputation (:func:`oracle_picks`) disagree; empty if nowhere.

    Compared in every cycle, up to the first difference: the schedulers' sets, their selections and the oracles' picks;
    at the end the sums of the region with the counters.

    Raises
    ------
    ValueError
        For a run without a trace, in a build without oracles, or that did not end by itself: of what a fault or the
        cycle limit has cut off the probe does not show everything.
    """
    events = result.events
    if events is None or not config.oracles or result.status != "ended":
        raise ValueError("the oracles are recomputed from a traced run that ended, in a build with oracles")
    front, regions = events["front"], events["control"]["region"]
    sums = {"discrepancies": 0, "errors": 0}
    try:
        for mine in oracle_picks(config, policy, events, fetch_policy):
            row = front[mine.cycle]
            masks = [int(mask) for mask in row["oracles"]]
            if any(mask & mask - 1 for mask in masks):
                return [f"cycle {mine.cycle}: an oracle picks several warps: {masks}"]
            oracles = [_warp(mask) for mask in masks]
            selected = int(row["select_warp"]) if row["select_valid"] else None
            fetch = 0, None
            if fetch_policy is not None and config.coordination is Coordination.BASELINE:
                fetch = int(row["fetch_eligible"]), int(row["fetch_warp"]) if row["fetch_valid"] else None
            theirs = CyclePicks(mine.cycle, int(row["eligible"]), selected, *oracles, *fetch)
            if mine != theirs:
                return [f"cycle {mine.cycle}: recomputed {mine}, hardware {theirs}"]
            sums["discrepancies"] += bool(regions[mine.cycle]) and mine.osched1 != mine.selected
            sums["errors"] += bool(regions[mine.cycle]) and mine.osched2 != mine.selected
    except ValueError as error:
        return [str(error)]
    return [
        f"{name}: recomputed {count}, hardware {result.counters[name]}"
        for name, count in sums.items() if count != result.counters[name]
    ]
