"""The front end of ``swas``: one selection both issues and fetches; squashed fetches become NOPs (design.md 3)."""

from ...machine.events import DEPTH, NONE, Reason
from . import choices, icache, policies, private, scoreboard, turns
from .compiled import inlined
from .partitions import global_warp, owned
from .policies import begin, change, pick, remember
from .steps import place

__all__ = ["reset", "select", "tick"]


@inlined
def reset(m):
    """Fill every buffer with d NOPs, with no fetch in flight (design.md section 3, "Reset")."""
    front = m.front[m.part]
    front.answered = front.missing_warp = front.chosen_warp = front.locked = front.used_place = NONE
    front.selected = front.sent_last = NONE
    begin(m.config[1], front)
    for w in range(m.config[1].warps):
        front.activated[w] = front.held_line[w] = NONE
        for slot in range(DEPTH):
            front.nop[w, slot] = front.filled[w, slot] = 1
    for i in range(len(front.mshr_line)):
        front.mshr_line[i] = NONE


@inlined
def select(m, cycle):
    """Find the warps' reasons, the eligible set and the policy's choice, all from the state at the start of the cycle.

    A warp is eligible iff it is active, has no outstanding miss or unresolved control flow, is not waiting at a
    barrier, and its head is a NOP or ready. The fill level of its buffer does not matter: that is the key idea of swas.
    """
    config, front, control = m.config[1], m.front[m.part], m.control[m.part]
    observer, whole = m.observer[0], m.whole[0]
    icache.look_up(m)
    missing = front.warp1 if front.missed else NONE
    memory_idle = not config.ordered or scoreboard.memory_idle(m)
    eligible = front.asks = front.could = 0
    for w in range(config.warps):
        reason = 0
        if control.active >> w & 1:
            if control.waiting >> w & 1:
                reason = Reason.BARRIER
            elif front.unresolved >> w & 1:
                reason = Reason.CONTROL
            elif front.suspended >> w & 1:
                reason = Reason.ICACHE
            else:
                code = _head(m, w)
                if code != NONE:
                    reason = scoreboard.reason(m, m.code[code], w, cycle, memory_idle)
                    turns.note(m, m.code[code], reason)
                if w == missing:
                    reason = Reason.ICACHE
            if reason == 0:
                eligible |= 1 << w
        observer.reason[global_warp(m, w)] = reason
    if whole.halted:
        eligible = 0
    front.eligible = eligible
    if config.policy == policies.OUTSIDE:
        choices.attend(m, cycle)
    front.selected = chosen = pick(config, front, control, eligible)
    if chosen != NONE:
        front.selected_code = _head(m, chosen)
        front.selected_nop = front.selected_code == NONE
        if config.supplied:
            front.selected_pc = m.steps[place(m, chosen, m.issue[m.part].position[chosen])].pc
        else:
            slot = front.head[chosen]
            front.selected_pc = front.at[chosen, slot]
            front.selected_predicted, front.selected_target = front.predicted[chosen, slot], front.target[chosen, slot]


@inlined
def _head(m, w):
    """Return the code of the instruction that the warp issues next, or NONE for a NOP."""
    front, issue = m.front[m.part], m.issue[m.part]
    if m.config[1].supplied:
        # After its last recorded instruction, a warp is waiting for another that it meets only in a different order.
        known = m.known[global_warp(m, w)]
        return m.steps[place(m, w, issue.position[w])].code if issue.position[w] < known else NONE
    slot = front.head[w]
    return NONE if front.nop[w, slot] else front.code[w, slot]


@inlined
def tick(m, cycle, offered, accepted):
    """End the cycle: fetch for the selected warp, decode, squash, and update misses and pcs.

    The priority for a pc is: activation, resolution, decode redirect, miss, + 4.
    """
    config, front, control = m.config[1], m.front[m.part], m.control[m.part]
    remember(config, front, control, cycle, owned(m, m.lsu[0].lost))
    if m.whole[0].change:
        change(config, front, m.whole[0].change)
    _follow_control(m)
    front.turned = NONE
    if config.supplied:
        return
    redirected = control.resolved_warp if control.resolves and control.redirects else NONE
    turned, turn_target = decode(m, redirected)
    front.turned = turned
    lookup = front.warp1 if front.valid1 and not front.squashed1 else NONE
    following = front.pc1 + 4 & 0xFFFF_FFFF
    # The issuing warp fetches: from the pc after the fetch in the lookup, if that is its own, else from its pc.
    w = front.selected
    fetch_pc = 0
    if w != NONE:
        fetch_pc = following if w == lookup else front.pc[w]
    squashed_miss = lookup != NONE and (lookup in (redirected, turned))
    front.miss = front.missed and not squashed_miss
    icache.tick(m, NONE if squashed_miss else lookup, redirected, turned, offered, accepted)
    _advance_pcs(m, lookup, following, redirected, turned, turn_target)
    _buffers(m, redirected)
    if redirected != NONE:
        private.restore(m, redirected)
    _shift(m, redirected, turned, w, fetch_pc)


@inlined
def decode(m, redirected):
    """Return the warp whose jump decode follows, and the target; a fetch squashed in this cycle is ignored."""
    front = m.front[m.part]
    if front.valid3 and not front.squashed3 and front.warp3 != redirected:
        private.follow(m, front.warp3, m.code[front.code3], front.pc3)
        if front.predicted3:
            return front.warp3, front.target3
    return NONE, 0


@inlined
def _advance_pcs(m, lookup, following, redirected, turned, turn_target):
    config, front, control = m.config[1], m.front[m.part], m.control[m.part]
    if lookup != NONE and not front.missed:
        front.pc[lookup] = following
    if turned != NONE:
        front.pc[turned] = turn_target
    if redirected != NONE:
        front.pc[redirected] = control.target & 0xFFFF_FFFC
    if control.activates:
        for w in range(config.warps):
            if control.activates >> w & 1:
                front.pc[w] = m.whole[0].activation_pc & 0xFFFF_FFFC
                private.reset(m, w)


@inlined
def _follow_control(m):
    """Update the set of warps whose control flow is unresolved in the next cycle."""
    front, control = m.front[m.part], m.control[m.part]
    # Control flow that issues now is unresolved from the next cycle on.
    w = front.selected
    if w != NONE and not front.selected_nop and m.code[front.selected_code].control:
        front.unresolved |= 1 << w
    if control.resolves:
        front.unresolved &= ~(1 << control.resolved_warp)
    front.unresolved &= ~control.released


@inlined
def _buffers(m, redirected):
    """Pop and fill: the fetch made in t fills the slot popped in t. A redirect leaves d NOPs."""
    front = m.front[m.part]
    # The fetch made now will fill the slot popped now, so `_shift` reads the head before it moves.
    if front.valid3:
        w, slot = front.warp3, front.slot3
        front.nop[w, slot] = front.squashed3
        front.filled[w, slot] = 1
        front.code[w, slot] = front.code3
        front.at[w, slot] = front.pc3
        front.predicted[w, slot], front.target[w, slot] = front.predicted3, front.target3
    w = front.selected
    if w != NONE:
        front.filled[w, front.head[w]] = 0
    if redirected != NONE:
        for slot in range(DEPTH):
            front.nop[redirected, slot] = 1


@inlined
def _shift(m, redirected, turned, fetches, pc):
    """Advance the fetch pipeline; a squashed fetch comes out as a NOP."""
    front = m.front[m.part]
    front.valid3, front.warp3, front.slot3 = front.valid2, front.warp2, front.slot2
    front.pc3, front.code3 = front.pc2, front.code2
    front.squashed3 = front.squashed2 or front.warp2 in (redirected, turned)
    front.valid2, front.warp2, front.slot2 = front.valid1, front.warp1, front.slot1
    front.pc2, front.code2 = front.pc1, front.looked_up
    front.squashed2 = front.squashed1 or front.warp1 in (redirected, turned) or front.missed
    front.valid1 = fetches != NONE
    if fetches != NONE:
        front.warp1, front.slot1, front.pc1 = fetches, front.head[fetches], pc
        front.squashed1 = fetches in (redirected, turned)
        front.head[fetches] = (front.head[fetches] + 1) % DEPTH
