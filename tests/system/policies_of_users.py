"""Policies as users may write them, each in Python and in hardware, in one file."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Mux
from amaranth.lib import data

from metronome.hdl.lib.onehot import lowest_one
from metronome.hdl.policies.base import LastWarpPolicy, first_by, greedy, largest_first, order, pick_after
from metronome.hdl.policies.base import Policy as Hardware
from metronome.sim.machine.policies.base import Policy, WithLast, after, lowest, members


class _NoState(Policy):
    def reset(self):
        return 0

    def update(self, state, inputs, picked):
        return state


def highest(warps):
    return warps.bit_length() - 1 if warps else None


def highest_one(warps):
    return Cat(*reversed(lowest_one(Cat(*(warps[i] for i in reversed(range(len(warps))))))))


class Highest(_NoState):
    def pick(self, state, inputs):
        return highest(inputs.eligible)


class HighestHardware(Hardware):
    def pick(self, state, inputs):
        return highest_one(inputs.eligible)


class Backwards(WithLast):
    def pick(self, state, inputs):
        below = inputs.eligible & ((1 << state.last) - 1)
        return highest(below) if below else highest(inputs.eligible)


class BackwardsHardware(LastWarpPolicy):
    def pick(self, state, inputs):
        below = Cat((state.last >> (w + 1)).any() for w in range(self.warps)) & inputs.eligible
        return Mux(below.any(), highest_one(below), highest_one(inputs.eligible))


class FewestLanes(_NoState):
    reads = ("eligible", "lanes")

    def pick(self, state, inputs):
        return min(members(inputs.eligible), key=lambda w: (inputs.lanes[w], w), default=None)


class FewestLanesHardware(Hardware):
    def pick(self, state, inputs):
        ahead = order(self.warps, lambda v, w: inputs.lanes[v] <= inputs.lanes[w])
        return first_by(ahead, inputs.eligible)


class MostFetched(_NoState):
    reads = ("eligible", "fetched")

    def pick(self, state, inputs):
        return max(members(inputs.eligible), key=lambda w: (inputs.fetched[w], -w), default=None)


class MostFetchedHardware(Hardware):
    def pick(self, state, inputs):
        return first_by(largest_first(inputs.fetched), inputs.eligible)


@dataclass(frozen=True)
class Toggle:
    odd: bool


class Alternate(Policy):
    """In turns the lowest and the highest."""

    def reset(self):
        return Toggle(False)

    def pick(self, state, inputs):
        return highest(inputs.eligible) if state.odd else lowest(inputs.eligible)

    def update(self, state, inputs, picked):
        return state if picked is None else Toggle(not state.odd)


class AlternateHardware(Hardware):
    def state_layout(self):
        return data.StructLayout({"odd": 1})

    def pick(self, state, inputs):
        return Mux(state.odd, highest_one(inputs.eligible), lowest_one(inputs.eligible))

    def update(self, m, state, inputs, *, selected):
        with m.If(selected.any()):
            m.d.sync += state.odd.eq(~state.odd)


@dataclass(frozen=True)
class Clock:
    count: int


class EveryCycle(Policy):
    """A counter of cycles rotates the priority."""

    def reset(self):
        return Clock(0)

    def pick(self, state, inputs):
        return after(state.count % self.warps, inputs.eligible)

    def update(self, state, inputs, picked):
        return Clock((state.count + 1) % 4)


class EveryCycleHardware(Hardware):
    def state_layout(self):
        return data.StructLayout({"count": 2})

    def pick(self, state, inputs):
        onehot = Cat(state.count % self.warps == w for w in range(self.warps))
        return pick_after(onehot, inputs.eligible)

    def update(self, m, state, inputs, *, selected):
        m.d.sync += state.count.eq(state.count + 1)


class SkipWaiting(WithLast):
    """The last, unless somebody waits: then the next."""

    reads = ("eligible", "waiting")

    def pick(self, state, inputs):
        if not inputs.waiting and inputs.eligible >> state.last & 1:
            return state.last
        return after(state.last, inputs.eligible)


class SkipWaitingHardware(LastWarpPolicy):
    def pick(self, state, inputs):
        keep = Mux(inputs.waiting.any(), 0, state.last)
        return greedy(keep, inputs.eligible, pick_after(state.last, inputs.eligible))


@dataclass(frozen=True)
class Newest:
    newest: int


class Youngest(Policy):
    """Warps that started in the most recent start first."""

    reads = ("eligible", "activated")

    def reset(self):
        return Newest(0)

    def pick(self, state, inputs):
        return lowest(inputs.eligible & state.newest or inputs.eligible)

    def update(self, state, inputs, picked):
        return Newest(inputs.activated) if inputs.activated else state


class YoungestHardware(Hardware):
    def state_layout(self):
        return data.StructLayout({"newest": self.warps})

    def pick(self, state, inputs):
        young = inputs.eligible & state.newest
        return Mux(young.any(), lowest_one(young), lowest_one(inputs.eligible))

    def update(self, m, state, inputs, *, selected):
        with m.If(inputs.activated.any()):
            m.d.sync += state.newest.eq(inputs.activated)


class Half(_NoState):
    """The lower half of the active warps first."""

    reads = ("eligible", "active")

    def pick(self, state, inputs):
        first = inputs.eligible & inputs.active & ((1 << self.warps // 2) - 1)
        return highest(first) if first else lowest(inputs.eligible)


class HalfHardware(Hardware):
    def pick(self, state, inputs):
        first = inputs.eligible & inputs.active & ((1 << self.warps // 2) - 1)
        return Mux(first.any(), highest_one(first), lowest_one(inputs.eligible))


@dataclass(frozen=True)
class Rest:
    last: int
    rested: bool


class Lazy(Policy):
    """After each selection a cycle without one."""

    def reset(self):
        return Rest(self.warps - 1, True)

    def pick(self, state, inputs):
        return after(state.last, inputs.eligible) if state.rested else None

    def update(self, state, inputs, picked):
        return Rest(state.last if picked is None else picked, picked is None)


class LazyHardware(LastWarpPolicy):
    idles = True
    def state_layout(self):
        return data.StructLayout({"last": self.warps, "rested": 1})

    def state_reset(self):
        return {**super().state_reset(), "rested": 1}

    def pick(self, state, inputs):
        return Mux(state.rested, pick_after(state.last, inputs.eligible), 0)

    def update(self, m, state, inputs, *, selected):
        super().update(m, state, inputs, selected=selected)
        m.d.sync += state.rested.eq(~selected.any())
