"""The warp policies: whom each picks, and what it remembers (docs/policies.md has the table)."""

from __future__ import annotations

from .compiled import inlined
from .records import DEPTH, NONE

__all__ = ["NAMES", "begin", "pick", "remember"]

#: By number, as CONFIG has it.
NAMES = (
    "fixed", "lrr", "gtlrr", "gtlo", "lo", "srr", "prr", "gto", "gto_dispatch", "pta", "icount", "two_level",
    "variable_rate", "variable_rate_strict",
)
(
    FIXED, LRR, GTLRR, GTLO, LO, SRR, PRR, GTO, GTO_DISPATCH, PTA, ICOUNT, TWO_LEVEL, VARIABLE_RATE,
    VARIABLE_RATE_STRICT,
) = range(len(NAMES))
#: Ages of gto saturate here (docs/policies.md, "Ages").
OLDEST = 4095


@inlined
def lowest(warps):
    """The lowest number in a set that is not empty."""
    w = 0
    while warps >> w & 1 == 0:
        w += 1
    return w


@inlined
def after(last, warps, count):
    """The first of last+1, last+2, ... (modulo ``count``) in a set that is not empty."""
    w = last
    while True:
        w += 1
        if w == count:
            w = 0
        if warps >> w & 1:
            return w


@inlined
def fetched(front, w):
    """Instructions of a warp that are fetched and not issued, NOPs left out: in its buffer, and on their way."""
    count = 0
    for slot in range(DEPTH):
        count += front.filled[w, slot] & (front.nop[w, slot] ^ 1)
    count += front.valid1 & (front.squashed1 ^ 1) & (front.warp1 == w)
    count += front.valid2 & (front.squashed2 ^ 1) & (front.warp2 == w)
    count += front.valid3 & (front.squashed3 ^ 1) & (front.warp3 == w)
    return count


@inlined
def within_group(config, front, eligible):
    """Of the last group, else the next one with a warp in a set that is not empty: the first after its last."""
    size = config.group_warps
    group = front.last // size
    while True:
        w = front.group_last[group]
        for _ in range(size):
            w += 1
            if w == (group + 1) * size:
                w = group * size
            if eligible >> w & 1:
                return w
        group += 1
        if group * size == config.warps:
            group = 0


@inlined
def begin(config, front):
    """The state before the first cycle."""
    front.last = config.warps - 1
    front.passed = config.warps - 1
    for w in range(config.warps):
        # The highest of each group stays.
        front.group_last[w // config.group_warps] = w


@inlined
def pick(config, front, control, eligible):
    """Whom the policy selects of ``eligible``: a warp, or NONE."""
    policy = config.policy
    if policy in (SRR, PRR):
        return front.pointer if eligible >> front.pointer & 1 else NONE
    if eligible == 0:
        return NONE
    if policy == TWO_LEVEL:
        return within_group(config, front, eligible)
    if policy in (VARIABLE_RATE, VARIABLE_RATE_STRICT):
        owner = config.owner[front.slot]
        if eligible >> owner & 1:
            return owner
        return after(front.passed, eligible, config.warps) if policy == VARIABLE_RATE else NONE
    greedy = policy in (GTLRR, GTLO, GTO, GTO_DISPATCH)
    if greedy and eligible >> front.last & 1:
        return front.last
    if policy in (LRR, GTLRR):
        return after(front.last, eligible, config.warps)
    best = lowest(eligible)
    if policy == GTO:
        for w in range(best + 1, config.warps):
            if eligible >> w & 1 and front.age[w] > front.age[best]:
                best = w
    elif policy == GTO_DISPATCH:
        for w in range(best + 1, config.warps):
            if eligible >> w & 1 and front.activated[w] < front.activated[best]:
                best = w
    elif policy == PTA:
        for w in range(best + 1, config.warps):
            if eligible >> w & 1 and control.lanes[w] > control.lanes[best]:
                best = w
    elif policy == ICOUNT:
        best, fewest, w = NONE, 0, front.last
        for _ in range(config.warps):
            w = w + 1 if w + 1 < config.warps else 0
            if eligible >> w & 1:
                count = fetched(front, w)
                if best == NONE or count < fewest:
                    best, fewest = w, count
    return best


@inlined
def remember(config, front, cycle, eligible, selected, active, waiting, activates):
    """What the policy keeps of this cycle; ``activates``: the warps that start now."""
    policy = config.policy
    if policy == SRR:
        if active:
            front.pointer = after(front.pointer, active, config.warps)
    elif policy == PRR:
        takers = active & ~waiting
        if takers and (selected == front.pointer or not takers >> front.pointer & 1):
            front.pointer = after(front.pointer, takers, config.warps)
    elif policy == GTO:
        for w in range(config.warps):
            if w == front.last and selected != w:
                front.age[w] = 0
            elif eligible >> w & 1 and front.age[w] < OLDEST:
                front.age[w] += 1
    elif policy == GTO_DISPATCH and activates:
        for w in range(config.warps):
            if activates >> w & 1:
                front.activated[w] = cycle
    elif policy == TWO_LEVEL:
        if selected != NONE:
            front.group_last[selected // config.group_warps] = selected
    elif policy in (VARIABLE_RATE, VARIABLE_RATE_STRICT):
        if selected != NONE and not eligible >> config.owner[front.slot] & 1:
            front.passed = selected
        front.slot = front.slot + 1 if active and front.slot + 1 < config.frame else 0
    if selected != NONE:
        front.last = selected
