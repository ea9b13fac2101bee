"""Reference model of the policies for P3: each policy is an order of the warps.

Written from docs/policies.md: a warp is picked if it is eligible and no eligible warp precedes it. The registers
belong to the harness and hold numbers; invariants tie the design's registers to them. A policy that has no order here
uses the tables of its plain Python as its reference (tables.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from metronome.hdl.isa.csrs import PolicyParameter
from metronome.hdl.lib.onehot import encode, or_all
from metronome.hdl.policies.gto import AGE_BITS
from metronome.sim.machine.policies.with_parameters import frame_of

from .locality import Locality
from .model import Model
from .tables import TableReference

__all__ = ["ORDERS", "PickReference", "pick_reference"]

Ahead = Callable[[int, int], Value]


@dataclass
class Order:
    """Which warp of each pair v < w precedes the other (v if true, else w), and which warps may be picked at all."""

    ahead: Ahead
    allowed: Value | None = None
    invariants: list[tuple[str, Value]] = field(default_factory=list)


def _last(model: Model) -> tuple[Signal, list[Value], list[tuple[str, Value]]]:
    """The last selected warp (initially W-1), the comparisons last < v, and the invariant that the design agrees."""
    warps = model.config.warps
    last = model.register(range(warps), "expect_last", warps - 1)
    with model.m.If(model.issued.any()):
        model.m.d.sync += last.eq(encode(model.issued))
    below = Signal(warps, name="expect_last_below")
    model.m.d.comb += below.eq(Cat(last < v for v in range(warps)))
    state = model.issue_state()
    known = state.last == Cat(last == v for v in range(warps))
    return last, [below[v] for v in range(warps)], [("the design knows the warp selected last", known)]


def _loose_round_robin(below: Sequence[Value]) -> Ahead:
    """Round robin from the warp after the last: of v < w, w comes first exactly if last is one of v, ..., w-1."""
    return lambda v, w: below[v] | ~below[w]


def _greedy(last: Value, otherwise: Ahead) -> Ahead:
    return lambda v, w: (last == v) | (last != w) & otherwise(v, w)


def _number(v: int, w: int) -> Value:
    return Const(1, 1)


def _lowest(model: Model) -> Order:
    return Order(_number)


def _lrr(model: Model) -> Order:
    _, below, invariants = _last(model)
    return Order(_loose_round_robin(below), invariants=invariants)


def _gtlrr(model: Model) -> Order:
    last, below, invariants = _last(model)
    return Order(_greedy(last, _loose_round_robin(below)), invariants=invariants)


def _gtlo(model: Model) -> Order:
    last, _, invariants = _last(model)
    return Order(_greedy(last, _number), invariants=invariants)


def _pointer(model: Model, takers: Value, moves: Value) -> Order:
    """Only the pointer's warp; on ``moves`` the pointer advances to the next of ``takers`` after it, in a circle."""
    m, warps = model.m, model.config.warps
    pointer = model.register(range(warps), "expect_pointer")
    with m.If(moves):
        for distance in reversed(range(1, warps + 1)):
            candidate = Signal(range(warps), name=f"expect_pointer_{distance}")
            m.d.comb += candidate.eq(Mux(pointer + distance < warps, pointer + distance, pointer + distance - warps))
            with m.If(takers.bit_select(candidate, 1)):
                m.d.sync += pointer.eq(candidate)
    here = Cat(pointer == v for v in range(warps))
    known = model.issue_state().pointer == here
    return Order(_number, allowed=here, invariants=[("the design knows whose turn it is", known)])


def _srr(model: Model) -> Order:
    return _pointer(model, model.dut.flow.active, Const(1, 1))


def _prr(model: Model) -> Order:
    takers = Signal(model.config.warps, name="expect_takers")
    model.m.d.comb += takers.eq(model.dut.flow.active & ~model.dut.flow.waiting)
    done = Signal(name="expect_turn_done")
    order = _pointer(model, takers, done)
    model.m.d.comb += done.eq((order.allowed & (model.issued | ~takers)).any())
    return order


def _two_level(model: Model) -> Order:
    """Groups in circular order from the last one selected; in a group, loose round robin after its own last warp."""
    m, warps, begins = model.m, model.config.warps, model.config.two_level_group
    sizes = [each for each in range(1, warps + 1) if warps % each == 0] if model.config.policy_csr else [begins]
    size = model.register(range(warps + 1), "expect_size", begins)
    group = model.register(range(warps // sizes[0]), "expect_group", warps // begins - 1)
    lasts = [model.register(range(sizes[-1]), f"expect_last_{g}", begins - 1) for g in range(warps // sizes[0])]
    for each in sizes:
        for w in range(warps):
            with m.If((size == each) & model.issued[w]):
                m.d.sync += [group.eq(w // each), lasts[w // each].eq(w % each)]
    for each in sizes if model.config.policy_csr else ():
        with m.If(_changes(model, PolicyParameter.GROUP_WARPS) & (model.dut.flow.change.value == each)):
            m.d.sync += [size.eq(each), group.eq(warps // each - 1), *(last.eq(each - 1) for last in lasts)]
    invariants = _groups_known(model, sizes, size, group, lasts)

    def ahead(v: int, w: int) -> Value:
        return or_all([(size == each) & _before(v, w, each, group, lasts) for each in sizes])

    return Order(ahead, invariants=invariants)


def _groups_known(
    model: Model, sizes: Sequence[int], size: Value, group: Value, lasts: Sequence[Value]
) -> list[tuple[str, Value]]:
    """The design agrees on the group size, the last group selected, and the last warp selected in each group."""
    state, warps = model.issue_state(), model.config.warps
    invariants = [("the size of groups is one of them", or_all([size == each for each in sizes]))]
    if len(sizes) > 1:
        invariants.append(("the design knows the size of groups", state.size == Cat(size == each for each in sizes)))
    for each in sizes:
        groups, other = range(warps // each), size != each
        known = (state.group == Cat(group == g for g in groups)) & (group < len(groups))
        invariants.append((f"the design knows the group of {each} selected from last", other | known))
        for g in groups:
            last = Cat(lasts[g] == place for place in range(each))
            known = (state.lasts[g * each : (g + 1) * each] == last) & (lasts[g] < each)
            invariants.append((f"the design knows the warp of group {g} of {each} selected last", other | known))
    return invariants


def _before(v: int, w: int, size: int, group: Value, lasts: Sequence[Value]) -> Value:
    """Whether v precedes w > v in groups of ``size``."""
    first, second = v // size, w // size
    if first == second:
        return (lasts[first] < v % size) | ~(lasts[first] < w % size)
    # In circular order from group, the second precedes the first exactly if group is one of first+1, ..., second.
    return ~((group > first) & (group <= second))


def _changes(model: Model, parameter: PolicyParameter) -> Value:
    """Whether the program changes this parameter."""
    return model.dut.flow.change.parameter == parameter


def _slot(model: Model) -> tuple[list[Value], list[tuple[str, Value]]]:
    """The owner of the current slot, one bit per warp, and the invariants that the design agrees on slot and frame."""
    m, frame, warps = model.m, frame_of(model.config.slot_rates), model.config.warps
    slot = model.register(range(max(2, len(frame))), "expect_slot")
    state = model.issue_state()
    known = state.slot == slot
    invariants = [("the slot is one of the frame", slot < len(frame)), ("the design knows the slot", known)]
    owners: list[Value] = [Const(w, range(warps)) for w in frame]
    length: Value = Const(len(frame))
    if model.config.policy_csr:
        owners = [model.register(range(warps), f"expect_owner_of_{number}", w) for number, w in enumerate(frame)]
        length = model.register(range(len(frame) + 1), "expect_length", len(frame))
        _follow_frame(model, owners, length)
        invariants += [
            (f"the design knows whose slot {number} is", (state.owners[number] == owner) & (owner < warps))
            for number, owner in enumerate(owners)
        ]
        invariants.append((
            "the design knows how long the frame is",
            (state.length == length) & (length != 0) & (length <= len(frame)),
        ))
    with m.If((model.dut.flow.active == 0) | (slot + 1 >= length)):
        m.d.sync += slot.eq(0)
    with m.Else():
        m.d.sync += slot.eq(slot + 1)
    owner = Signal(range(warps), name="expect_owner")
    with m.Switch(slot):
        for number, warp in enumerate(owners):
            with m.Case(number):
                m.d.comb += owner.eq(warp)
    return [owner == v for v in range(model.config.warps)], invariants


def _follow_frame(model: Model, owners: Sequence[Value], length: Value) -> None:
    """Apply the program's changes to the frame."""
    m, change = model.m, model.dut.flow.change
    for number, owner in enumerate(owners):
        asked = _changes(model, PolicyParameter.SLOT) & (change.slot == number)
        with m.If(asked & (change.value < model.config.warps)):
            m.d.sync += owner.eq(change.value)
    with m.If(_changes(model, PolicyParameter.FRAME) & (change.value >= 1) & (change.value <= len(owners))):
        m.d.sync += length.eq(change.value)


def _variable_rate(model: Model) -> Order:
    """The slot's own warp, then loose round robin after the last warp that took a slot its owner could not use."""
    m, warps = model.m, model.config.warps
    own, invariants = _slot(model)
    last = model.register(range(warps), "expect_passed", warps - 1)
    with m.If(model.issued.any() & ~(model.dut.event.eligible & Cat(own)).any()):
        m.d.sync += last.eq(encode(model.issued))
    known = model.issue_state().last == Cat(last == v for v in range(warps))
    otherwise = _loose_round_robin([last < v for v in range(warps)])
    return Order(
        lambda v, w: own[v] | ~own[w] & otherwise(v, w),
        invariants=[*invariants, (("the design knows the warp that last used a slot that its own warp could not "
                                  "use"), known)],
    )


def _variable_rate_strict(model: Model) -> Order:
    own, invariants = _slot(model)
    return Order(_number, allowed=Cat(own), invariants=invariants)


def _ccws(model: Model) -> Order:
    """Loose round robin among the warps that are not held back."""
    _, below, invariants = _last(model)
    locality = Locality(model)
    return Order(_loose_round_robin(below), allowed=~locality.held, invariants=[*invariants, *locality.invariants])


def _gto(model: Model) -> Order:
    m, warps = model.m, model.config.warps
    last, _, invariants = _last(model)
    ages = [model.register(AGE_BITS, f"expect_age_{w}") for w in range(warps)]
    state = model.issue_state()
    for w, age in enumerate(ages):
        with m.If((last == w) & ~model.issued[w]):
            m.d.sync += age.eq(0)
        with m.Elif(model.dut.event.eligible[w] & (age != (1 << AGE_BITS) - 1)):
            m.d.sync += age.eq(age + 1)
        invariants.append((f"the design knows the age of warp {w}", state.age[w] == age))
    return Order(_greedy(last, lambda v, w: ages[v] >= ages[w]), invariants=invariants)


def _gto_dispatch(model: Model) -> Order:
    """Warps in order of activation: warps that start are appended, those of the same cycle by number."""
    m, warps = model.m, model.config.warps
    last, _, invariants = _last(model)
    starts = model.dut.flow.activation.warps
    places = [model.register(range(warps), f"expect_place_{w}", w) for w in range(warps)]
    before = {(v, w): Signal(name=f"expect_{v}_before_{w}") for v in range(warps) for w in range(warps) if v != w}
    for (v, w), its in before.items():
        m.d.comb += its.eq(places[v] < places[w])
    for w, place in enumerate(places):
        stay = sum((~starts[v] & before[v, w] for v in range(warps) if v != w), Const(0, 1))
        stayed = sum((~starts[v] for v in range(warps)), Const(0, 1))
        lower = sum((starts[v] for v in range(w)), Const(0, 1))
        m.d.sync += place.eq(Mux(starts[w], stayed + lower, stay))
    ahead = model.issue_state().ahead
    for bit, (v, w) in enumerate(combinations(range(warps), 2)):
        invariants.append((f"the design knows which of warps {v} and {w} started first", ahead[bit] == before[v, w]))
        invariants.append((f"warps {v} and {w} did not start together", places[v] != places[w]))
    return Order(_greedy(last, lambda v, w: before[v, w]), invariants=invariants)


def _pta(model: Model) -> Order:
    config = model.config
    lanes = [Signal(range(config.threads + 1), name=f"expect_lanes_{w}") for w in range(config.warps)]
    for w, count in enumerate(lanes):
        model.m.d.comb += count.eq(sum((model.dut.flow.masks[w][lane] for lane in range(config.threads)), Const(0, 1)))
    return Order(lambda v, w: lanes[v] >= lanes[w])


def _icount(model: Model) -> Order:
    _, below, invariants = _last(model)
    fetched = model.inside.component("scheme").fetched
    first = _loose_round_robin(below)

    def ahead(v: int, w: int) -> Value:
        return Mux(first(v, w), fetched[v] <= fetched[w], fetched[v] < fetched[w])

    return Order(ahead, invariants=invariants)


ORDERS: dict[str, Callable[[Model], Order]] = {
    "fixed": _lowest, "lrr": _lrr, "gtlrr": _gtlrr, "gtlo": _gtlo, "lo": _lowest, "srr": _srr, "prr": _prr, "gto": _gto,
    "gto_dispatch": _gto_dispatch, "pta": _pta, "icount": _icount, "two_level": _two_level,
    "variable_rate": _variable_rate, "variable_rate_strict": _variable_rate_strict, "ccws": _ccws,
}


class PickReference:
    """Reference for the policy of a single-policy model, updated from the design's selections."""

    def __init__(self, model: Model) -> None:
        self._model = model
        (name,) = model.config.policies
        order = ORDERS[name](model)
        warps = model.config.warps
        self._order = order
        ahead = {}
        for v, w in combinations(range(warps), 2):
            ahead[v, w] = Signal(name=f"{v}_ahead_of_{w}")
            model.m.d.comb += ahead[v, w].eq(order.ahead(v, w))
        # The warps that precede w, one bit per warp.
        self._before = [
            Cat(ahead[v, w] if v < w else ~ahead[w, v] if v > w else Const(0, 1) for v in range(warps))
            for w in range(warps)
        ]

    def add_invariants(self) -> None:
        """Claim that the design's registers match the reference's."""
        for text, holds in self._order.invariants:
            self._model.lemma(text, holds)

    def pick(self, eligible: Value, name: str) -> Signal:
        """Return the warp of ``eligible`` that no other eligible warp precedes, one-hot."""
        picked = Signal(len(eligible), name=name)
        allowed = eligible if self._order.allowed is None else eligible & self._order.allowed
        self._model.m.d.comb += picked.eq(
            Cat(allowed[w] & ~(allowed & before).any() for w, before in enumerate(self._before))
        )
        return picked


def pick_reference(model: Model) -> PickReference | TableReference:
    """Return the reference with which P3 compares the model's single policy.

    Raises
    ------
    NoReference
        For a policy without an order whose tables are too large at this number of warps.
    """
    (name,) = model.config.policies
    return PickReference(model) if name in ORDERS else TableReference(model)
