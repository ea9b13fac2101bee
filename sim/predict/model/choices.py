"""Earlier choices of a policy in Python: in the same state and with the same inputs, it is not called again."""

import numpy as np

from .compiled import inlined
from .partitions import owned

__all__ = ["CHOICE", "INPUTS", "attend"]

#: The inputs besides ``eligible`` that a choice can depend on, by their bits in ``config.reads``.
INPUTS = ("active", "waiting", "activated", "lost", "change")
ACTIVE, WAITING, ACTIVATED, LOST, CHANGE = (1 << number for number in range(len(INPUTS)))
#: A place is free if its ``state`` is 0. ``following``: the state after the choice.
CHOICE = np.dtype([(name, np.int64) for name in ("state", "eligible", *INPUTS, "picked", "following")])
#: The policy is called even if the choice is known in the first FIRST cycles, and then in every EVERY-th cycle; the
#: caller checks the answer against the earlier one.
FIRST, EVERY = 2048, 1024
#: The number of places that are searched for a choice.
PLACES = 16
_MIX = 0x2545F4914F6CDD1D


@inlined
def attend(m, cycle):
    """Make the choice of this cycle if it is known, or keep the one that the policy in Python has just made."""
    front = m.front[m.part]
    if front.policy_state == 0:
        return
    if front.chosen_at == cycle:
        if front.keeps:
            front.keeps = 0
            _keep(m)
    elif cycle >= FIRST and cycle % EVERY != 0:
        at = _place(m, False)
        if at >= 0:
            front.choice, front.policy_state = m.choices[at].picked, m.choices[at].following
            front.chosen_at = cycle


@inlined
def _keep(m):
    front = m.front[m.part]
    at = _place(m, True)
    if at >= 0:
        active, waiting, activated, lost, change = _inputs(m)
        kept = m.choices[at]
        kept.state, kept.eligible, kept.active, kept.waiting = front.state_before, front.eligible, active, waiting
        kept.activated, kept.lost, kept.change = activated, lost, change
        kept.picked, kept.following = front.choice, front.policy_state


@inlined
def _inputs(m):
    """Return the inputs that the policy reads, with 0 for the others."""
    reads, control = m.config[1].reads, m.control[m.part]
    active = control.active if reads & ACTIVE else 0
    waiting = control.waiting if reads & WAITING else 0
    activated = control.activates if reads & ACTIVATED else 0
    lost = owned(m, m.lsu[0].lost) if reads & LOST else 0
    change = m.whole[0].change if reads & CHANGE else 0
    return active, waiting, activated, lost, change


@inlined
def _place(m, free):
    """Return the place of this cycle's state and inputs, or a place to store them if ``free``; -1 if there is none."""
    front = m.front[m.part]
    state = front.state_before if free else front.policy_state
    active, waiting, activated, lost, change = _inputs(m)
    mixed = state
    for value in (front.eligible, active, waiting, activated, lost, change):
        mixed = (mixed ^ value) * _MIX
        mixed ^= mixed >> 29
    for number in range(PLACES):
        at = (mixed + number) & (len(m.choices) - 1)
        kept = m.choices[at]
        if kept.state == 0:
            return at if free else -1
        if (
            kept.state == state and kept.eligible == front.eligible and kept.active == active
            and kept.waiting == waiting and kept.activated == activated and kept.lost == lost
            and kept.change == change
        ):
            return at
    return -1
