"""Inductive invariants: facts of every reachable state, asserted along with each property."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from amaranth.hdl import Cat, Const, Mux, Signal, Value

from metronome.hdl.lib.onehot import one_hot, or_all
from metronome.hdl.policies.gto_dispatch import GreedyOldestDispatch

from .model import Model
from .records import RingPlace

__all__ = ["control_flow", "flight", "idle", "mshrs", "program_order", "queues", "ring", "rings", "selection"]


def one(vector: Value) -> Value:
    """Return whether exactly one bit is set."""
    return vector.any() & ((vector & (vector - 1)) == 0)


def at_most_one(conditions: Sequence[Value]) -> Value:
    """Return whether no two conditions hold."""
    vector = Cat(conditions)
    return (vector & (vector - 1)) == 0


def selection(model: Model) -> None:
    """Registers that remember a warp name exactly one; those that keep an order keep a valid one."""
    for scheduler, policy, state in model.policy_states():
        for field in ("last", "pointer"):
            if field in state.shape().members:
                model.lemma(f"{scheduler}: {field} is one warp", one(state[field]))
        if policy == GreedyOldestDispatch.name:
            pairs = combinations(range(model.config.warps), 2)
            ahead = {pair: state.ahead[bit] for bit, pair in enumerate(pairs)}
            circles = [
                ahead[u, v] & ahead[v, w] & ~ahead[u, w] | ~ahead[u, v] & ~ahead[v, w] & ahead[u, w]
                for u, v, w in combinations(range(model.config.warps), 3)
            ]
            if circles:
                model.lemma(f"{scheduler}: the order of activation has no circles", ~or_all(circles))


def ring(model: Model) -> None:
    """``swas``: buffer + in flight = d for the symbolic warp."""
    _heads(model)
    _ring(model, "mine", model.warp, model.head(), model.mine_of(model.flags("filled")))


def rings(model: Model) -> None:
    """``swas``: buffer + in flight = d for every warp."""
    _heads(model)
    heads, filled = model.heads(), model.flags("filled")
    for w in range(model.config.warps):
        _ring(model, f"warp {w}", Const(w), heads[w], filled[w])


def _heads(model: Model) -> None:
    """The registers that summarize each warp's head agree with its ring."""
    buffers, heads = model.inside.component("buffers"), model.heads()
    for w, filled in enumerate(model.flags("filled")):
        model.lemma(f"warp {w}: the design knows whether the buffer is empty",
                    buffers.empty[w] == ~filled.bit_select(heads[w], 1))
    for w, nop in enumerate(model.flags("nop") if model.replaces else ()):
        model.lemma(f"warp {w}: the design knows whether the head is a NOP",
                    buffers.head_nop[w] == nop.bit_select(heads[w], 1))


def _ring(model: Model, name: str, warp: Value, head: Value, filled: Value) -> None:
    """Each slot is filled or one fetch is on its way to it, the youngest to the slot popped last."""
    m, depth = model.m, model.config.buffer_depth
    prefix = name.replace(" ", "_")
    taken = []
    younger = Signal(range(depth), name=f"{prefix}_younger_1")
    for number, stage in enumerate(model.stages(), start=1):
        its = Signal(name=f"{prefix}_stage_{number}")
        expected = Signal(stage.slot.shape(), name=f"{prefix}_slot_{number}")
        m.d.comb += [its.eq(stage.valid & (stage.warp == warp)), expected.eq(head - 1 - younger)]
        model.lemma(f"{name}: the fetch in stage {number} fills the slot that was popped for it",
                    ~its | (stage.slot == expected))
        taken.append(Mux(its, one_hot(stage.slot, depth), 0))
        following = Signal(range(depth), name=f"{prefix}_younger_{number + 1}")
        m.d.comb += following.eq(younger + its)
        younger = following
    model.lemma(f"{name}: a slot is filled unless a fetch is on its way to it", filled == ~or_all(taken)[:depth])


def queues(model: Model) -> None:
    """``baseline`` and ``vortex``: buffer + in flight <= d for every warp; its slots from head to tail are filled."""
    _heads(model)
    m, depth = model.m, model.config.buffer_depth
    buffers, fetch = model.inside.component("buffers"), model.inside.component("fetch")
    heads, filled = model.heads(), model.flags("filled")
    for w in range(model.config.warps):
        tail = model.inside.signal("buffers", f"tail_{w}")
        count = buffers.occupancy[w]
        places = [Signal(tail.shape(), name=f"queue_{w}_{slot}") for slot in range(depth)]
        m.d.comb += [place.eq(slot - heads[w]) for slot, place in enumerate(places)]
        model.lemma(f"warp {w}: buffer + in flight is at most d", count + fetch.kept_in_flight[w] <= depth)
        model.lemma(f"warp {w}: the slots from head on are filled", filled[w] == Cat(p < count for p in places))
        model.lemma(f"warp {w}: the tail comes after what is filled", tail == (heads[w] + count)[: len(tail)])


def flight(model: Model) -> None:
    """The stages hold the fetches of the last three cycles, with those that became NOPs marked."""
    for number, (stage, live) in enumerate(zip(model.stages(), model.live, strict=True), start=1):
        kept = stage.valid & ~stage.squashed
        model.lemma(f"stage {number} holds the fetch of {number} cycles ago, unless it has become a NOP",
                    Mux(kept, one_hot(stage.warp, model.config.warps), 0) == live)
    model.lemma("it is known in decode whether the fetch was from interleaved stacks",
                model.inside.signal("fetch", "scattered") == model.in_stacks(model.stages()[-1].pc))
    fetch = model.inside.component("fetch")
    model.lemma("the scheduler receives the warp of the fetch in the lookup", fetch.lookup.warps == model.live[0])
    model.lemma("a warp's register holds the pc of its fetch until that has been looked up",
                ~model.of_mine(model.live[0]) | (model.mine_of(model.pc_registers()) == model.stages()[0].pc[2:]))


def control_flow(model: Model) -> None:
    """The design and the harness agree on unresolved control flow."""
    model.lemma("unresolved from the issue of a control instruction to its resolution or release",
                model.dut.event.unresolved == model.unresolved)


def idle(model: Model, places: list[RingPlace]) -> None:
    """A warp that is not active (and whose end has resolved) holds only NOPs."""
    ended = ~model.of_mine(model.dut.flow.active | model.unresolved)
    model.lemma("a warp that is not active holds only NOPs", ~ended | ~or_all([~place.nop for place in places]))


def program_order(model: Model, places: list[RingPlace], next_pc: Value) -> None:
    """The non-NOPs in order, then the fetch pc, form the path from ``next_pc``, the pc of the next instruction."""
    depth = len(places)
    fetch_pc = model.mine_of(model.fetch_pcs())
    # One addition per claim, each of one variable: chains of additions are slow to solve.
    following = [place.after for place in places]
    ahead = ~place_nops(places, 0, depth)
    model.lemma("a warp with only NOPs fetches the next pc", ahead | (fetch_pc == next_pc))
    for k, place in enumerate(places):
        first = place_nops(places, 0, k) & ~place.nop
        last = ~place.nop & place_nops(places, k + 1, depth)
        model.lemma(f"place {k}, the first that is no NOP, holds the next pc", ~first | (place.pc == next_pc))
        model.lemma(f"place {k}, the last that is no NOP, comes before the fetch pc",
                    ~last | (fetch_pc == following[k]))
        for j in range(k):
            adjacent = ~places[j].nop & place_nops(places, j + 1, k) & ~place.nop
            model.lemma(f"place {k} comes after place {j}, with NOPs between", ~adjacent | (place.pc == following[j]))


def place_nops(places: list[RingPlace], start: int, stop: int) -> Value:
    """Return whether all places from ``start`` to before ``stop`` are NOPs."""
    return Cat(place.nop for place in places[start:stop]).all()


def mshrs(model: Model) -> None:
    """An MSHR that waits for memory holds the requested line; no two MSHRs of a cache hold the same line."""
    misses = model.misses()
    outstanding = model.environment.signal("", "outstanding")
    model.lemma("the answers that memory owes are those that the assumptions allow", outstanding == model.owed)
    valid, sent, answered = misses.valid, misses.sent, misses.answered
    refill_line = model.inside.component("fetch.misses").refill.line
    model.lemma("an answer is taken up in the cycle after", answered.any() == model.answered)
    model.lemma("the line of an answer is the requested one",
                ~model.answered | (refill_line == model.answered_line))
    model.lemma("the register that is answered is the one whose request it was",
                answered == Mux(model.answered, one_hot(model.answered_tag, model.config.fetch_requests), 0))
    for tag in range(model.config.fetch_requests):
        model.lemma(f"MSHR {tag} has sent its request and has no answer iff memory owes one",
                    (valid[tag] & sent[tag]) == (model.owed[tag] | answered[tag]))
        model.lemma(f"MSHR {tag} owes or takes up an answer", ~(model.owed[tag] & answered[tag]))
        model.lemma(f"MSHR {tag} holds the requested line",
                    ~model.owed[tag] | (misses.lines[tag] == model.asked[tag]))
        model.lemma(f"the answer to MSHR {tag} is to its line",
                    ~answered[tag] | (misses.lines[tag] == refill_line))
    for i, k in combinations(range(model.config.icache_mshrs) if model.config.icache_bytes else (), 2):
        model.lemma(f"MSHRs {i} and {k} hold different lines",
                    ~(valid[i] & valid[k]) | (misses.lines[i] != misses.lines[k]))
    locked = misses.locked
    model.lemma("the request that is offered stands",
                ((locked & (locked - 1)) == 0) & ((locked & (~valid | sent)) == 0))
