"""P1 to P7 (design.md section 3) as claims on a :class:`tb.formal.model.Model`, each with the invariants it needs."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Assume, Instance, Mux, Signal, Value

from metronome.hdl.config import LINE_NUMBER_BITS, LINE_OFFSET_BITS
from metronome.hdl.layouts.decoded import BufferEntry, IssueInfo
from metronome.hdl.layouts.events import ORACLES
from metronome.hdl.lib.onehot import encode

from . import invariants
from .model import Model
from .paths import PredictedPath, predicted_bit
from .picks import PickReference, pick_reference
from .tables import TableReference

__all__ = ["FRONT_END", "OF_PARTITIONS", "OF_SMS", "PRIVACY", "PROPERTIES", "SEPARATION", "TURNS"]


def together(model: Model) -> None:
    """P1: a pop and a fetch of the same warp happen in the same cycle, never one alone."""
    inside = model.inside
    fetch, buffers = inside.component("fetch"), inside.component("buffers")
    invariants.selection(model)
    model.claim("the warps that pop are those that fetch", buffers.pop == model.fetched)
    model.claim("the warps that pop are those that are selected", buffers.pop == model.issued)
    model.claim("at most one warp pops", (buffers.pop & (buffers.pop - 1)) == 0)
    model.claim("a request is made when a warp pops", fetch.request.valid == buffers.pop.any())
    model.claim("the design says when a warp is selected", model.dut.event.select_valid == buffers.pop.any())
    popped = model.of_mine(buffers.pop)
    pc = Mux(fetch.lookup.missed, fetch.request_pc_if_missed, fetch.request_pc_if_hit)
    for name, number in (("selected", model.dut.selection.warp), ("popped", buffers.pop_warp),
                         ("fetched", fetch.request.warp)):
        model.claim(f"the number of the {name} warp is its number", ~popped | (number == model.warp))
    model.claim("the slot that is popped is the head", ~popped | (buffers.pop_slot == model.head()))
    model.claim("the fetch is made at the warp's pc",
                ~popped | (pc == model.mine_of(model.fetch_pcs())))
    made, made_at = model.register(1, "expect_made"), model.register(32, "expect_made_at")
    slot = model.register(model.head().shape(), "expect_made_slot")
    model.m.d.sync += [made.eq(popped), made_at.eq(pc), slot.eq(model.head())]
    model.claim("and looked up there in the next cycle", ~made | (model.stages()[0].pc == made_at))
    model.claim("the fetch takes along the slot that is popped", ~made | (model.stages()[0].slot == slot))


def never_dry(model: Model) -> None:
    """P2: a selected warp's buffer is never empty; no buffer overflows."""
    buffers = model.inside.component("buffers")
    invariants.selection(model)
    if model.replaces:
        invariants.rings(model)
        model.claim("no instruction arrives at the head of a buffer", buffers.fills_head == 0)
    else:
        invariants.queues(model)
        invariants.control_flow(model)
    model.claim("the buffer of a warp that pops is not empty", (buffers.pop & buffers.empty) == 0)
    model.claim("no slot is filled that is filled already", ~buffers.overflow)
    model.claim("the design's own watch is silent", ~(model.dut.event.empty_pop | model.dut.event.miscounted))


def picks(model: Model) -> None:
    """P3: the selection is the policy's pick from the eligible set, also if that set counts empty buffers as ready."""
    dut = model.dut
    buffers = model.inside.component("buffers")
    reference = pick_reference(model)
    if not model.replaces:
        _issue_pick(model, reference)
        return
    halted = dut.halt.replicate(model.config.warps)
    may_run = dut.flow.active & ~model.suspended & ~model.missed & ~model.unresolved & ~halted
    eligible, widened = Signal(model.config.warps), Signal(model.config.warps)
    model.m.d.comb += [
        eligible.eq(may_run & (dut.event.head_nop | dut.selection.ready)),
        widened.eq(may_run & (dut.event.head_nop | dut.selection.ready | buffers.empty)),
    ]
    invariants.flight(model)
    invariants.control_flow(model)
    invariants.rings(model)
    reference.add_invariants()
    model.claim("the eligible set is correct", dut.event.eligible == eligible)
    model.lemma("no warp is eligible only because an empty buffer counts as ready", widened == eligible)
    pick, widened_pick = reference.pick(eligible, "pick"), reference.pick(widened, "widened_pick")
    # A claim for each warp is far easier for a solver than one for all.
    for w in range(model.config.warps):
        model.claim(f"warp {w} is selected iff it is the policy's pick", model.issued[w] == pick[w])
    model.claim("the selection is the policy's pick if an empty buffer counts as ready",
                model.issued == widened_pick)
    for number in range(ORACLES):
        model.claim(f"osched{number + 1} picks the selected warp", dut.event.oracles[number] == model.issued)


def _issue_pick(model: Model, reference: PickReference | TableReference) -> None:
    """``baseline`` and ``vortex``: the issue scheduler picks among the warps with a ready instruction in the buffer."""
    dut, warps = model.dut, model.config.warps
    empty = model.inside.component("buffers").empty
    eligible = Signal(warps)
    may_issue = dut.flow.active & ~model.unresolved & ~dut.halt.replicate(warps)
    model.m.d.comb += eligible.eq(may_issue & ~empty & dut.selection.ready)
    invariants.control_flow(model)
    reference.add_invariants()
    model.claim("the eligible set is correct", dut.event.eligible == eligible)
    pick = reference.pick(eligible, "pick")
    for w in range(warps):
        model.claim(f"warp {w} is selected iff it is the policy's pick", model.issued[w] == pick[w])


def program_order(model: Model) -> None:
    """P4: the non-NOP instructions that a warp issues are its program order: none lost, duplicated or wrong-path."""
    m, dut = model.m, model.dut
    if not model.replaces:
        _predictions_taken_along(model)
        return
    places = model.ring(contents=True)
    next_pc = model.register(32, "expect_pc")
    issues = Signal()
    m.d.comb += issues.eq(model.of_mine(model.issued) & ~dut.selection.nop)
    with m.If(model.of_mine(dut.flow.activation.warps)):
        m.d.sync += next_pc.eq(dut.flow.activation.pc & ~3)
    with m.Elif(model.of_mine(model.redirected)):
        m.d.sync += next_pc.eq(dut.flow.resolution.target & ~3)
    with m.Elif(issues):
        m.d.sync += next_pc.eq(places[0].after)
    invariants.selection(model)
    invariants.ring(model)
    invariants.flight(model)
    invariants.control_flow(model)
    invariants.idle(model, places)
    invariants.program_order(model, places, next_pc)
    fetch = model.inside.component("fetch")
    model.lemma("the next pc is a multiple of 4", next_pc[:2] == 0)
    model.lemma("the jumps that are followed in decode are the predicted ones", fetch.turn.warps == model.turned)
    model.lemma("a jump that is followed goes to its target",
                ~model.turned.any() | (fetch.turn.target == model.target))
    arrives = fetch.done.valid & ~fetch.done.squashed
    model.lemma("the issue side receives every jump that is followed",
                ~arrives | (fetch.done.entry.decoded.predicted == model.follows))
    if model.path is None:
        model.lemma("the issue side receives the offset of a jump that is followed",
                    ~(arrives & model.follows)
                    | ((fetch.done.entry.pc + fetch.done.entry.decoded.imm)[:32] == model.target))
    model.claim("the issued instruction is at the next pc", ~issues | (places[0].pc == next_pc))
    model.claim("the issued instruction belongs to an active warp with nothing unresolved",
                ~issues | model.of_mine(dut.flow.active & ~model.unresolved))
    _same_entry(model, places, next_pc, issues)
    if model.path is not None:
        model.path.claims(places, issues)


def _predictions_taken_along(model: Model) -> None:
    """``baseline`` and ``vortex``: what P8 assumes of the front end, not the order of issue."""
    invariants.selection(model)
    invariants.flight(model)
    invariants.control_flow(model)
    invariants.queues(model)
    ended = ~model.of_mine(model.dut.flow.active | model.unresolved)
    for number, live in enumerate(model.live, start=1):
        model.lemma(f"a warp that is not active fetched nothing {number} cycles ago", ~ended | ~model.of_mine(live))
    PredictedPath(model).queue_claims(model.of_mine(model.issued))


def _same_entry(model: Model, places: list, next_pc: Value, issues: Value) -> None:
    """The instruction issued is the one fetched at its pc, in the cycle of the pop and in the next one."""
    m = model.m
    pc, entry = Signal(32), Signal(BufferEntry)
    fetch = model.inside.component("fetch")
    m.submodules.some_pc = Instance("$anyconst", p_WIDTH=32, o_Y=pc)
    m.submodules.some_entry = Instance("$anyconst", p_WIDTH=BufferEntry.as_shape().size, o_Y=entry)
    brings = fetch.done.valid & ~fetch.done.squashed & (fetch.done.entry.pc == pc)
    # A free prediction may differ each time that the instruction is fetched.
    same = entry.as_value() | predicted_bit(model)
    m.d.comb += Assume(~brings | (fetch.done.entry.as_value() | predicted_bit(model) == same))
    for number, place in enumerate(places):
        kept = place.decoded & ~place.nop
        model.lemma(f"place {number} of the ring holds the instruction of its pc",
                    ~kept | (place.pc != pc) | (place.entry.as_value() | predicted_bit(model) == same))
        model.lemma(f"place {number} of the ring shows the issue stage the same instruction",
                    ~kept | (place.info == place.entry.decoded.info.as_value()))
    issued, issued_pc = model.register(1, "expect_issued"), model.register(32, "expect_issued_pc")
    issued_info = model.register(IssueInfo, "expect_issued_info")
    m.d.sync += [issued.eq(issues), issued_pc.eq(next_pc), issued_info.eq(model.dut.selection.info)]
    out = model.dut.selection.entry
    model.claim("the entry that follows has the pc that issued", ~issued | (out.pc == issued_pc))
    model.claim("the entry that follows is the instruction that was judged",
                ~issued | (out.decoded.info.as_value() == Value.cast(issued_info)))
    model.claim("the entry that follows is the instruction of its pc",
                ~issued | (out.pc != pc) | (out.as_value() | predicted_bit(model) == same))


def nops(model: Model) -> None:
    """P5: a miss creates one NOP, a redirect leaves d, and nothing else creates any."""
    m, dut, depth = model.m, model.dut, model.config.buffer_depth
    places = model.ring(contents=False)
    owed = model.register(range(depth + 1), "expect_nops", depth)
    held = Signal(range(depth + 1))
    m.d.comb += held.eq(sum(place.nop for place in places))
    pops_nop = model.of_mine(model.issued) & dut.selection.nop
    with m.If(model.of_mine(model.redirected)):
        m.d.sync += owed.eq(depth)
    with m.Elif(model.of_mine(model.turned)):
        # Those created one and two cycles ago, including a fetch that misses now, and one that is created now.
        behind = sum(model.of_mine(fetches) for fetches in (model.live[0], model.live[1], model.fetched))
        m.d.sync += owed.eq(owed + behind - pops_nop)
    with m.Else():
        m.d.sync += owed.eq(owed + model.of_mine(model.missed) - pops_nop)
    invariants.selection(model)
    invariants.ring(model)
    invariants.flight(model)
    invariants.control_flow(model)
    invariants.idle(model, places)
    model.claim("the warp holds as many NOPs as are owed", held == owed)


def bounded_wait(model: Model) -> None:
    """P6: lrr: while a warp is eligible, at most W-1 selections pass it by."""
    m, warps = model.m, model.config.warps
    waited = model.register(range(warps + 1), "expect_waited")
    with m.If(~model.of_mine(model.dut.event.eligible) | model.of_mine(model.issued)):
        m.d.sync += waited.eq(0)
    with m.Elif(model.issued.any() & (waited != warps)):
        m.d.sync += waited.eq(waited + 1)
    invariants.selection(model)
    state = next(state for _, policy, state in model.policy_states() if policy == "lrr")
    ahead = Signal(range(warps), name="ahead_of_mine")
    last = Signal(range(warps), name="last_number")
    m.d.comb += [
        last.eq(encode(state.last)),
        ahead.eq(Mux(last < model.warp, model.warp - last - 1, model.warp - last - 1 + warps)),
    ]
    model.lemma("as many selections have passed as the round robin has come nearer", waited + ahead <= warps - 1)
    model.claim("at most W-1 selections pass over an eligible warp", waited <= warps - 1)


def suspended(model: Model) -> None:
    """P7: a warp is suspended iff its newest fetch missed, is not squashed and its line has not arrived."""
    m, dut = model.m, model.dut
    places = model.ring(contents=False)
    missed, line = model.register(1, "expect_suspended"), model.register(LINE_NUMBER_BITS, "expect_line")
    model.track_requests()
    fetched_pc = model.register(32, "expect_fetched_pc")
    fetched_line = fetched_pc[LINE_OFFSET_BITS:]
    with m.If(model.of_mine(model.fetched)):
        m.d.sync += fetched_pc.eq(model.mine_of(model.fetch_pcs()))
    with m.If(model.of_mine(model.redirected | model.turned)):
        m.d.sync += missed.eq(0)
    with m.Elif(model.of_mine(model.missed)):
        m.d.sync += [missed.eq(~(model.serves & (model.answered_line == fetched_line))), line.eq(fetched_line)]
    with m.Elif(model.serves & (model.answered_line == line)):
        m.d.sync += missed.eq(0)
    invariants.selection(model)
    invariants.ring(model)
    invariants.flight(model)
    invariants.control_flow(model)
    invariants.idle(model, places)
    invariants.mshrs(model)
    first, misses = model.stages()[0], model.misses()
    suspends = model.of_mine(model.suspended)
    model.lemma("only a warp that is active, or has control flow unresolved, is suspended",
                ~suspends | model.of_mine(dut.flow.active | model.unresolved))
    model.lemma("the fetch in lookup is at the pc that was fetched last",
                ~model.of_mine(model.live[0]) | (first.pc == fetched_pc))
    fetch_line = model.mine_of(model.fetch_pcs())[LINE_OFFSET_BITS:]
    model.lemma("a warp waits for the line that it missed", ~suspends | (fetch_line == line))
    model.claim("a warp is suspended iff its newest fetch missed and its line is not there", suspends == missed)
    waits = model.of_mine(misses.waiting)
    # The MSHR that took the warp's miss: a witness is easier to follow than "one of the MSHRs".
    home = model.register(model.config.fetch_requests, "expect_home")
    asks = model.of_mine(misses.warp)
    taken = asks & misses.granted.any()
    with m.If(taken):
        m.d.sync += home.eq(misses.granted)
    if not model.config.icache_bytes:
        model.lemma("at most one warp asks for an MSHR", (misses.warp & (misses.warp - 1)) == 0)
        model.lemma("the register that takes a warp's miss is its own", (home & ~model.mine) == 0)
    model.lemma("a suspended warp has no fetch in lookup", ~(suspends & model.of_mine(model.live[0])))
    model.lemma("the register of a suspended warp holds its pc", ~(suspends & model.of_mine(model.advances())))
    model.lemma("only a suspended warp waits for an MSHR", ~waits | suspends)
    model.lemma("a warp asks for an MSHR for the line that it missed", ~asks | (misses.wanted_line == line))
    model.lemma("a suspended warp waits for an MSHR, or has had one", ~suspends | waits | home.any())
    for i, its in enumerate(misses.lines):
        model.lemma(f"MSHR {i}, where a suspended warp has it, is for the warp's line",
                    ~(suspends & ~waits & home[i]) | misses.valid[i] & (its == line))


#: The properties of the front end; P8 is one of its predictors (:mod:`tb.formal.privacy`).
FRONT_END: dict[str, Callable[[Model], None]] = {
    "P1": together, "P2": never_dry, "P3": picks, "P4": program_order, "P5": nops, "P6": bounded_wait, "P7": suspended,
}
PRIVACY = "P8"
#: Properties of an SM with several schedulers (:mod:`tb.formal.turns`, :mod:`tb.formal.separation`).
TURNS, SEPARATION = OF_PARTITIONS = ("P9", "P10")
#: The property of a GPU (:mod:`tb.formal.sm_separation`).
OF_SMS = "P11"
PROPERTIES = (*FRONT_END, PRIVACY, *OF_PARTITIONS, OF_SMS)
