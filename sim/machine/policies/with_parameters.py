"""The warp policies with parameters as plain Python: two_level, variable_rate, variable_rate_strict and ccws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Self, TypeVar

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.csrs import PolicyParameter

from .base import Policy, PolicyInputs, State, after, members

__all__ = ["CacheConscious", "Locality", "TwoLevelRoundRobin", "VariableRate", "VariableRateStrict", "frame_of"]


#: Bits of the totals of ``ccws``, as in the hardware.
TOTAL_BITS = 20


@dataclass(frozen=True)
class Groups:
    """The size of a group, the group selected from most recently, and each group's most recently selected warp."""

    size: int
    group: int
    lasts: tuple[int, ...]


@dataclass(frozen=True)
class Slot:
    """The number of this cycle's slot in the frame, the owner of each slot, and the length of the frame."""

    slot: int
    owners: tuple[int, ...]
    length: int


@dataclass(frozen=True)
class SlotAndLast(Slot):
    """A slot, and the warp selected most recently in a slot that its owner could not use."""

    last: int


SlotState = TypeVar("SlotState", bound=Slot)


@dataclass(frozen=True)
class Locality:
    """Scores, totals, and the division that produces the scores (docs/policies.md, "Lost locality").

    ``base``, ``throttle``: the parameters. ``held``: the warps held back, determined in the previous cycle. ``owed``:
    the warps that lost locality and will get a score. ``left``: the remaining cycles of the division ``dividend`` /
    ``divisor``, the last of which assigns the score; all three are 0 while there is no division. In its first cycle
    the dividend is still to be multiplied by ``cutoff``, which is 0 in all others.
    """

    last: int
    scores: tuple[int, ...]
    base: int
    throttle: int
    held: int = 0
    owed: int = 0
    losses: int = 0
    selections: int = 0
    left: int = 0
    dividend: int = 0
    divisor: int = 0
    cutoff: int = 0


class _ChangeablePolicy(Policy[State]):
    """A policy whose parameters a program may change if ``writable`` is set."""

    def __init__(self, *, warps: int, writable: bool) -> None:
        super().__init__(warps=warps)
        self.writable = writable
        self.reads = (*type(self).reads, *["change"] * writable)


class TwoLevelRoundRobin(_ChangeablePolicy[Groups]):
    """The first warp after its group's last, in the last group, or the next one, that has an eligible warp."""

    name = "two_level"

    def __init__(self, *, warps: int, group_warps: int, writable: bool = False) -> None:
        super().__init__(warps=warps, writable=writable)
        self.size = group_warps
        #: The sizes that a group may have.
        self.sizes = [size for size in range(1, warps + 1) if warps % size == 0] if writable else [group_warps]

    @classmethod
    def of(cls, config: SmConfig) -> Self:
        return cls(warps=config.warps, group_warps=config.two_level_group, writable=config.policy_csr)

    def first(self, size: int) -> Groups:
        """Return the initial state for groups of ``size`` warps."""
        groups = self.warps // size
        return Groups(size, groups - 1, tuple((g + 1) * size - 1 for g in range(groups)))

    def reset(self) -> Groups:
        return self.first(self.size)

    def pick(self, state: Groups, inputs: PolicyInputs) -> int | None:
        groups = len(state.lasts)
        for distance in range(groups):
            group = (state.group + distance) % groups
            own = inputs.eligible & ((1 << state.size) - 1) << group * state.size
            if own:
                return after(state.lasts[group], own)
        return None

    def update(self, state: Groups, inputs: PolicyInputs, picked: int | None) -> Groups:
        size = inputs.changed(PolicyParameter.GROUP_WARPS) if self.writable else None
        if size in self.sizes:
            return self.first(size)
        if picked is None:
            return state
        group = picked // state.size
        return replace(state, group=group, lasts=(*state.lasts[:group], picked, *state.lasts[group + 1 :]))

    def states(self) -> Iterator[Groups]:
        for size in self.sizes:
            groups = range(self.warps // size)
            for lasts in product(*(range(g * size, (g + 1) * size) for g in groups)):
                yield from (Groups(size, group, lasts) for group in groups)

    def registers(self, state: Groups) -> dict[str, int]:
        registers = {"group": 1 << state.group, "lasts": sum(1 << w for w in state.lasts)}
        return registers | ({"size": 1 << self.sizes.index(state.size)} if self.writable else {})


def frame_of(rates: Sequence[int]) -> tuple[int, ...]:
    """Return the owner of each slot: a warp of rate r gets one of every n / r slots, earliest deadline first."""
    slots = sum(rates)
    # (first slot, one past the last one, warp) of each slot to be assigned; on a tie, the lowest warp goes first.
    parts = [
        (k * slots // rate, (k * slots + slots + rate - 1) // rate, w)
        for w, rate in enumerate(rates) for k in range(rate)
    ]
    frame = []
    for slot in range(slots):
        part = min((part for part in parts if part[0] <= slot), key=lambda part: part[1:])
        parts.remove(part)
        frame.append(part[2])
    return tuple(frame)


class _SlotPolicy(_ChangeablePolicy[SlotState]):
    """A policy that assigns a slot to each cycle."""

    reads: tuple[str, ...] = ("eligible", "active")

    def __init__(self, *, warps: int, rates: Sequence[int], writable: bool = False) -> None:
        super().__init__(warps=warps, writable=writable)
        self.frame = frame_of(rates)

    @classmethod
    def of(cls, config: SmConfig) -> Self:
        return cls(warps=config.warps, rates=config.slot_rates, writable=config.policy_csr)

    def following(self, state: SlotState, inputs: PolicyInputs) -> SlotState:
        """Return the slot of the next cycle and the frame, which stays at its start while no warp is active."""
        slot = state.slot + 1 if inputs.active and state.slot + 1 < state.length else 0
        owners, length = list(state.owners), state.length
        if self.writable:
            owner, most = inputs.changed(PolicyParameter.SLOT), inputs.changed(PolicyParameter.FRAME)
            if owner is not None and owner < self.warps and inputs.changed_slot < len(owners):
                owners[inputs.changed_slot] = owner
            if most is not None and 1 <= most <= len(owners):
                length = most
        return replace(state, slot=slot, owners=tuple(owners), length=length)

    def frames(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield every frame: the owner of each slot, and the number of slots in use."""
        slots = len(self.frame)
        if not self.writable:
            yield self.frame, slots
            return
        yield from product(product(range(self.warps), repeat=slots), range(1, slots + 1))

    def registers(self, state: SlotState) -> dict[str, int]:
        if not self.writable:
            return {"slot": state.slot}
        bits = max(1, (self.warps - 1).bit_length())
        owners = sum(owner << slot * bits for slot, owner in enumerate(state.owners))
        return {"slot": state.slot, "owners": owners, "length": state.length}


class VariableRateStrict(_SlotPolicy[Slot]):
    """The owner of the slot if eligible, else no warp."""

    name = "variable_rate_strict"

    def reset(self) -> Slot:
        return Slot(0, self.frame, len(self.frame))

    def pick(self, state: Slot, inputs: PolicyInputs) -> int | None:
        owner = state.owners[state.slot]
        return owner if inputs.eligible >> owner & 1 else None

    def update(self, state: Slot, inputs: PolicyInputs, picked: int | None) -> Slot:
        return self.following(state, inputs)

    def states(self) -> Iterator[Slot]:
        return (Slot(slot, *frame) for frame in self.frames() for slot in range(len(self.frame)))


class VariableRate(_SlotPolicy[SlotAndLast]):
    """The owner of the slot if eligible, else the first after the last warp that got a slot its owner could not use."""

    name = "variable_rate"

    def reset(self) -> SlotAndLast:
        return SlotAndLast(0, self.frame, len(self.frame), self.warps - 1)

    def _owner_uses(self, state: SlotAndLast, inputs: PolicyInputs) -> bool:
        return bool(inputs.eligible >> state.owners[state.slot] & 1)

    def pick(self, state: SlotAndLast, inputs: PolicyInputs) -> int | None:
        return state.owners[state.slot] if self._owner_uses(state, inputs) else after(state.last, inputs.eligible)

    def update(self, state: SlotAndLast, inputs: PolicyInputs, picked: int | None) -> SlotAndLast:
        last = state.last if picked is None or self._owner_uses(state, inputs) else picked
        return replace(self.following(state, inputs), last=last)

    def states(self) -> Iterator[SlotAndLast]:
        return (
            SlotAndLast(slot, *frame, last)
            for frame in self.frames() for slot in range(len(self.frame)) for last in range(self.warps)
        )

    def registers(self, state: SlotAndLast) -> dict[str, int]:
        return super().registers(state) | {"last": 1 << state.last}


class CacheConscious(_ChangeablePolicy[Locality]):
    """Round robin among the warps with the highest scores: as many as the cutoff admits, at least one."""

    name = "ccws"
    reads: tuple[str, ...] = ("eligible", "active", "waiting", "lost")

    def __init__(self, *, warps: int, base: int, throttle: int, total_bits: int = TOTAL_BITS,
                 writable: bool = False) -> None:
        super().__init__(warps=warps, writable=writable)
        self.base, self.throttle = base, throttle
        self.total_bits = total_bits
        self.most = warps * base * throttle
        #: Bits of a score, and of a quotient.
        self.bits = self.most.bit_length()
        self.steps = ((2**total_bits - 1) * self.most).bit_length()

    @classmethod
    def of(cls, config: SmConfig) -> Self:
        return cls(warps=config.warps, base=config.locality_base, throttle=config.locality_throttle,
                   writable=config.policy_csr)

    def reset(self) -> Locality:
        return Locality(self.warps - 1, (self.base,) * self.warps, self.base, self.throttle)

    def held_back(self, state: Locality, inputs: PolicyInputs) -> int:
        """Return the warps that are active and not waiting for others, but must not be selected."""
        queue = sorted(members(inputs.active & ~inputs.waiting), key=lambda w: (-state.scores[w], w))
        total, admitted = 0, 0
        for w in queue:
            total += state.scores[w]
            if admitted and total > len(queue) * state.base:
                break
            admitted |= 1 << w
        return inputs.active & ~inputs.waiting & ~admitted

    def pick(self, state: Locality, inputs: PolicyInputs) -> int | None:
        return after(state.last, inputs.eligible & ~state.held)

    def update(self, state: Locality, inputs: PolicyInputs, picked: int | None) -> Locality:
        following = self._following(state, inputs, picked)
        if self.writable:
            base = inputs.changed(PolicyParameter.LOCALITY_BASE)
            throttle = inputs.changed(PolicyParameter.LOCALITY_THROTTLE)
            if base is not None and 1 <= base <= self.base:
                return replace(following, base=base, scores=(base,) * self.warps)
            if throttle is not None and 1 <= throttle <= self.throttle:
                return replace(following, throttle=throttle)
        return following

    def _following(self, state: Locality, inputs: PolicyInputs, picked: int | None) -> Locality:
        losses, selections = state.losses + bool(inputs.lost), state.selections + (picked is not None)
        if max(losses, selections) >> self.total_bits:
            losses, selections = losses // 2, selections // 2
        owed = (state.owed if state.left != 1 else 0) | inputs.lost
        following = replace(
            state, last=state.last if picked is None else picked, scores=self._scores(state, inputs),
            held=self.held_back(state, inputs), owed=owed & inputs.active, losses=losses,
            selections=selections, left=max(0, state.left - 1),
        )
        if state.left == 1:
            return replace(following, dividend=0, divisor=0)
        if state.left == self.steps + 1:
            return replace(following, dividend=state.dividend * state.cutoff, cutoff=0)
        if state.left or not state.owed:
            return following
        return replace(
            following, left=self.steps + 1, dividend=state.losses * state.throttle, divisor=max(1, state.selections),
            cutoff=(inputs.active & ~inputs.waiting).bit_count() * state.base,
        )

    def _scores(self, state: Locality, inputs: PolicyInputs) -> tuple[int, ...]:
        level = None if state.left != 1 else max(state.base, min(self.most, state.dividend // state.divisor))

        def following(w: int, score: int) -> int:
            if not inputs.active >> w & 1:
                return state.base
            return level if level is not None and state.owed >> w & 1 else max(state.base, score - 1)

        return tuple(following(w, score) for w, score in enumerate(state.scores))

    def states(self) -> Iterator[Locality]:
        totals = range(1 << self.total_bits)
        scaled = [total * self.throttle for total in totals]
        cutoffs = [self.base * queued for queued in range(self.warps + 1)]
        begun = [(self.steps + 1, *each) for each in product(scaled, totals[1:], cutoffs)]
        running = begun + [
            (left, dividend * cutoff, divisor, 0) for left in range(1, self.steps + 1)
            for divisor in totals[1:] for dividend in scaled for cutoff in cutoffs
        ]
        return (
            Locality(last, scores, self.base, self.throttle, held, owed, losses, selections, *division)
            for last in range(self.warps) for owed in range(1 << self.warps) for losses in totals
            for selections in totals for division in [(0, 0, 0, 0), *dict.fromkeys(running)]
            for scores in product(range(self.base, self.most + 1), repeat=self.warps)
            for held in range(1 << self.warps)
        )

    def registers(self, state: Locality) -> dict[str, int]:
        # The number of bits of the dividend that the division has processed.
        taken = self.steps + 1 - state.left if state.left else 0
        upper, lower = divmod(state.dividend, 1 << self.steps - taken)
        quotient, rest = divmod(upper, max(1, state.divisor))
        pairs = enumerate(combinations(state.scores, 2))
        parameters = {"base": state.base, "throttle": state.throttle} if self.writable else {}
        return parameters | {
            "last": 1 << state.last, "held": state.held,
            "score": sum(score << w * self.bits for w, score in enumerate(state.scores)),
            "first": sum(1 << bit for bit, (lower_warp, higher_warp) in pairs if lower_warp >= higher_warp),
            "owed": state.owed, "losses": state.losses, "selections": state.selections, "left": state.left,
            "rest": rest, "digits": lower << taken | quotient, "divisor": state.divisor, "cutoff": state.cutoff,
        }
