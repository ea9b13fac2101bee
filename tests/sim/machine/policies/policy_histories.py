"""Each policy of policies.md told anew: its pick from the history of the run, with sets and times.

Nothing here is bounded or clever: stamps are cycle numbers, ages are counted over the whole past. Parameters are those
that a configuration has by default.
"""

from dataclasses import dataclass, field

from metronome.hdl.config import SmConfig
from metronome.sim.machine.policies.plain import PolicyInputs


@dataclass
class History:
    """What happened so far, a cycle an entry: the inputs, and who was selected."""

    warps: int
    inputs: list[PolicyInputs] = field(default_factory=list)
    picked: list[int | None] = field(default_factory=list)

    @property
    def last(self) -> int:
        """The warp selected most recently; W-1 before the first selection."""
        return next((w for w in reversed(self.picked) if w is not None), self.warps - 1)

    def rotation(self, first: int) -> list[int]:
        return [(first + step) % self.warps for step in range(self.warps)]


def in_set(mask: int, w: int) -> bool:
    return bool(mask >> w & 1)


def tell_fixed(history: History, now: PolicyInputs) -> int | None:
    return next((w for w in range(history.warps) if in_set(now.eligible, w)), None)


def tell_lrr(history: History, now: PolicyInputs) -> int | None:
    return next((w for w in history.rotation(history.last + 1) if in_set(now.eligible, w)), None)


def tell_gtlrr(history: History, now: PolicyInputs) -> int | None:
    return history.last if in_set(now.eligible, history.last) else tell_lrr(history, now)


def tell_gtlo(history: History, now: PolicyInputs) -> int | None:
    return history.last if in_set(now.eligible, history.last) else tell_fixed(history, now)


def tell_srr(history: History, now: PolicyInputs) -> int | None:
    pointer = 0
    for past in history.inputs:
        pointer = next((w for w in history.rotation(pointer + 1) if in_set(past.active, w)), pointer)
    return pointer if in_set(now.eligible, pointer) else None


def tell_prr(history: History, now: PolicyInputs) -> int | None:
    pointer = 0
    for past, picked in zip(history.inputs, history.picked, strict=True):
        takers = [w for w in history.rotation(pointer + 1) if in_set(past.active, w) and not in_set(past.waiting, w)]
        if takers and (picked == pointer or pointer not in takers):
            pointer = takers[0]
    return pointer if in_set(now.eligible, pointer) else None


def tell_gto(history: History, now: PolicyInputs) -> int | None:
    """Algorithm 1 of Magalhães 2025, run from the start: ages grow first, then the stalled warp's becomes 0."""
    ages, last = [0] * history.warps, history.warps - 1
    for cycle, inputs in enumerate([*history.inputs, now]):
        ages = [age + in_set(inputs.eligible, w) for w, age in enumerate(ages)]
        if not in_set(inputs.eligible, last):
            ages[last] = 0
            ready = [w for w in range(history.warps) if in_set(inputs.eligible, w)]
            oldest = max((ages[w] for w in ready), default=0)
            choice = next((w for w in ready if ages[w] == oldest), None)
        else:
            choice = last
        if cycle == len(history.inputs):
            return choice
        last = last if choice is None else choice
    raise AssertionError("a run has a cycle")


def tell_gto_dispatch(history: History, now: PolicyInputs) -> int | None:
    if in_set(now.eligible, history.last):
        return history.last
    stamps = [-1] * history.warps
    for cycle, past in enumerate(history.inputs):
        stamps = [cycle if in_set(past.activated, w) else stamp for w, stamp in enumerate(stamps)]
    return min((w for w in range(history.warps) if in_set(now.eligible, w)), key=lambda w: stamps[w], default=None)


def tell_pta(history: History, now: PolicyInputs) -> int | None:
    for lanes in range(max(now.lanes), -1, -1):
        for w in range(history.warps):
            if in_set(now.eligible, w) and now.lanes[w] == lanes:
                return w
    return None


def tell_icount(history: History, now: PolicyInputs) -> int | None:
    for fetched in range(max(now.fetched) + 1):
        for w in history.rotation(history.last + 1):
            if in_set(now.eligible, w) and now.fetched[w] == fetched:
                return w
    return None


def tell_two_level(history: History, now: PolicyInputs) -> int | None:
    """Groups in rotation from the one selected from last; in each, its warps in rotation from its last one on."""
    size = SmConfig(warps=history.warps).two_level_group
    first = history.last // size
    for distance in range(history.warps // size):
        group = (first + distance) % (history.warps // size)
        mine = [group * size + place for place in range(size)]
        last = next((w for w in reversed(history.picked) if w in mine), mine[-1])
        for step in range(1, size + 1):
            w = mine[(last - mine[0] + step) % size]
            if in_set(now.eligible, w):
                return w
    return None


def every_second_slot(warps: int) -> list[int]:
    """The frame of the default rates, as figure 47 of the Fermi study has it: W0 W1 W0 W2 W0 W3 ..."""
    return [w for other in range(1, warps) for w in (0, other)] or [0]


def owner_at(history: History) -> int:
    """Whose slot this is: they are counted from the last cycle on in which no warp was active."""
    since = next((n for n, past in enumerate(reversed(history.inputs)) if not past.active), len(history.inputs))
    frame = every_second_slot(history.warps)
    return frame[since % len(frame)]


def tell_variable_rate_strict(history: History, now: PolicyInputs) -> int | None:
    owner = owner_at(history)
    return owner if in_set(now.eligible, owner) else None


def tell_variable_rate(history: History, now: PolicyInputs) -> int | None:
    last = history.warps - 1
    for cycle, (past, picked) in enumerate(zip(history.inputs, history.picked, strict=True)):
        before = History(history.warps, history.inputs[:cycle])
        if picked is not None and not in_set(past.eligible, owner_at(before)):
            last = picked
    owner = owner_at(history)
    if in_set(now.eligible, owner):
        return owner
    return next((w for w in history.rotation(last + 1) if in_set(now.eligible, w)), None)


def ccws_scores(history: History, until: int) -> list[int]:
    """The scores of ccws in that cycle: losses * throttle * cutoff / selections at the end of a division, then less."""
    config = SmConfig(warps=history.warps)
    base, throttle, warps = config.locality_base, config.locality_throttle, range(history.warps)
    most = throttle * base * history.warps
    # Long enough for the greatest dividend: a bit a cycle, one cycle to begin and one to hand out.
    takes = len(f"{(2**20 - 1) * most:b}") + 1
    scores, owed, begun = [base] * history.warps, set(), None
    for cycle, past in enumerate(history.inputs[:until]):
        following = [max(base, score - 1) for score in scores]
        if begun is not None and cycle == begun[0] + takes:
            for w in owed:
                following[w] = min(most, max(base, begun[1]))
            owed, begun = set(), None
        elif begun is None and owed:
            losses = sum(before.lost != 0 for before in history.inputs[:cycle])
            selections = sum(w is not None for w in history.picked[:cycle])
            queue = sum(in_set(past.active & ~past.waiting, w) for w in warps)
            begun = cycle, losses * throttle * queue * base // max(1, selections)
        owed = {w for w in warps if in_set(past.active, w) and (w in owed or in_set(past.lost, w))}
        scores = [following[w] if in_set(past.active, w) else base for w in warps]
    return scores


def tell_ccws(history: History, now: PolicyInputs) -> int | None:
    """Who is held back was found in the cycle before."""
    past = history.inputs[-1] if history.inputs else PolicyInputs(eligible=0)
    scores = ccws_scores(history, len(history.inputs) - 1)
    queue = [w for w in range(history.warps) if in_set(past.active & ~past.waiting, w)]
    cutoff = len(queue) * SmConfig(warps=history.warps).locality_base

    def held_back(w: int) -> bool:
        ahead = [v for v in queue if scores[v] > scores[w] or (scores[v] == scores[w] and v < w)]
        return w in queue and ahead != [] and sum(scores[v] for v in ahead) + scores[w] > cutoff

    among = [w for w in history.rotation(history.last + 1) if in_set(now.eligible, w) and not held_back(w)]
    return among[0] if among else None


TOLD = {
    "fixed": tell_fixed, "lrr": tell_lrr, "gtlrr": tell_gtlrr, "gtlo": tell_gtlo, "lo": tell_fixed, "srr": tell_srr,
    "prr": tell_prr, "gto": tell_gto, "gto_dispatch": tell_gto_dispatch, "pta": tell_pta, "icount": tell_icount,
    "two_level": tell_two_level, "variable_rate": tell_variable_rate, "variable_rate_strict": tell_variable_rate_strict,
    "ccws": tell_ccws,
}
