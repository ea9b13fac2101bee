"""The warp policies: the pick of each, and its state (docs/policies.md has the table)."""

from metronome.hdl.isa.csrs import PolicyParameter

from ...machine.events import DEPTH, NONE
from .compiled import inlined

__all__ = ["NAMES", "OUTSIDE", "begin", "change", "pick", "remember"]

#: The policies in the order of their numbers in CONFIG.
NAMES = (
    "fixed", "lrr", "gtlrr", "gtlo", "lo", "srr", "prr", "gto", "gto_dispatch", "pta", "icount", "two_level",
    "variable_rate", "variable_rate_strict", "ccws",
)
(
    FIXED, LRR, GTLRR, GTLO, LO, SRR, PRR, GTO, GTO_DISPATCH, PTA, ICOUNT, TWO_LEVEL, VARIABLE_RATE,
    VARIABLE_RATE_STRICT, CCWS,
) = range(len(NAMES))
#: The number of a policy in Python, which is called in every cycle (machine.CHOOSE) and keeps its own state.
OUTSIDE = len(NAMES)
#: The value at which the ages of gto saturate (docs/policies.md, "Ages").
OLDEST = 4095
#: The totals of ccws stay below this value.
TOTAL = 1 << 20
GROUP_WARPS, LOCALITY_BASE, LOCALITY_THROTTLE, SLOT, SLOTS_OF_FRAME = (parameter.value for parameter in PolicyParameter)


@inlined
def lowest(warps):
    """Return the lowest warp of a nonempty set."""
    w = 0
    while warps >> w & 1 == 0:
        w += 1
    return w


@inlined
def after(last, warps, count):
    """Return the first of last+1, last+2, ... (modulo ``count``) in a nonempty set."""
    w = last
    while True:
        w += 1
        if w == count:
            w = 0
        if warps >> w & 1:
            return w


@inlined
def fetched(front, w):
    """Count a warp's instructions fetched and not issued, without NOPs: in its buffer and in the fetch pipeline."""
    count = 0
    for slot in range(DEPTH):
        count += front.filled[w, slot] & (front.nop[w, slot] ^ 1)
    count += front.valid1 & (front.squashed1 ^ 1) & (front.warp1 == w)
    count += front.valid2 & (front.squashed2 ^ 1) & (front.warp2 == w)
    count += front.valid3 & (front.squashed3 ^ 1) & (front.warp3 == w)
    return count


@inlined
def within_group(config, front, eligible):
    """Return the first warp after its group's last, in the last group or the next one with an eligible warp."""
    size = front.group_warps
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
def held_back(config, front, queued):
    """Return the warps in the queue of ccws that are held back: their scores and those ahead exceed the cutoff."""
    room, raised = 0, False
    for w in range(config.warps):
        if queued >> w & 1:
            room += front.locality_base
            raised = raised or front.score[w] > front.locality_base
    if not raised:
        return 0
    back = 0
    for w in range(config.warps):
        if queued >> w & 1:
            total, first = front.score[w], True
            for v in range(config.warps):
                ahead = front.score[v] > front.score[w] or (front.score[v] == front.score[w] and v < w)
                if v != w and queued >> v & 1 and ahead:
                    total += front.score[v]
                    first = False
            if total > room and not first:
                back |= 1 << w
    return back


@inlined
def keep_scores(config, front, active, queued, lost, selected):
    """Update the state of ccws at the end of the cycle."""
    front.held = held_back(config, front, queued)
    level = NONE
    if front.left == 1:
        level = max(front.locality_base, min(config.locality_most, front.dividend // front.divisor))
    for w in range(config.warps):
        if not active >> w & 1:
            front.score[w] = front.locality_base
        elif level != NONE and front.owed >> w & 1:
            front.score[w] = level
        elif front.score[w] > front.locality_base:
            front.score[w] -= 1
    if front.left:
        front.left -= 1
    elif front.owed:
        room = 0
        for w in range(config.warps):
            room += (queued >> w & 1) * front.locality_base
        front.left = config.locality_steps + 1
        front.dividend, front.divisor = front.losses * front.locality_throttle * room, max(1, front.selections)
    if level != NONE:
        front.owed = 0
    front.owed = (front.owed | lost) & active
    front.losses += lost != 0
    front.selections += selected != NONE
    if max(front.losses, front.selections) == TOTAL:
        front.losses, front.selections = front.losses // 2, front.selections // 2


@inlined
def begin(config, front):
    """Set the state before the first cycle."""
    front.choice = front.chosen_at = NONE
    front.passed = config.warps - 1
    front.frame, front.locality_throttle = config.frame, config.locality_throttle
    for slot in range(config.frame):
        front.owner[slot] = config.owner[slot]
    begin_groups(config, front, config.group_warps)
    begin_scores(config, front, config.locality_base)


@inlined
def begin_groups(config, front, size):
    """Start groups of ``size`` warps as if the highest warp of each, and of all, had been selected last."""
    front.group_warps, front.last = size, config.warps - 1
    for w in range(config.warps):
        # The last assignment for each group is its highest warp.
        front.group_last[w // size] = w


@inlined
def begin_scores(config, front, base):
    """Set the base score, and all scores to it."""
    front.locality_base = base
    for w in range(config.warps):
        front.score[w] = base


@inlined
def change(config, front, word):
    """Change the parameter given by ``word`` of mpolicy from the next cycle on; ignore an invalid change."""
    parameter, slot, value = word >> 24, word >> 16 & 255, word & 65535
    if parameter == GROUP_WARPS:
        if config.policy == TWO_LEVEL and 0 < value <= config.warps and config.warps % value == 0:
            begin_groups(config, front, value)
    elif parameter == LOCALITY_BASE:
        if 0 < value <= config.locality_base:
            begin_scores(config, front, value)
    elif parameter == LOCALITY_THROTTLE:
        if 0 < value <= config.locality_throttle:
            front.locality_throttle = value
    elif parameter == SLOT:
        if slot < config.frame and value < config.warps:
            front.owner[slot] = value
    elif parameter == SLOTS_OF_FRAME and 0 < value <= config.frame:
        front.frame = value


@inlined
def pick(config, front, control, eligible):
    """Return the warp that the policy selects from ``eligible``, or NONE."""
    policy = config.policy
    if policy == OUTSIDE:
        return front.choice
    if policy in (SRR, PRR):
        return front.pointer if eligible >> front.pointer & 1 else NONE
    if eligible == 0:
        return NONE
    if policy == CCWS:
        may = eligible & ~front.held
        return after(front.last, may, config.warps) if may else NONE
    if policy == TWO_LEVEL:
        return within_group(config, front, eligible)
    if policy in (VARIABLE_RATE, VARIABLE_RATE_STRICT):
        owner = front.owner[front.slot]
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
def remember(config, front, control, cycle, lost):
    """Update the state of the policy at the end of the cycle; ``lost``: the warps that have lost locality."""
    policy, selected, eligible, active = config.policy, front.selected, front.eligible, control.active
    if policy == SRR:
        if active:
            front.pointer = after(front.pointer, active, config.warps)
    elif policy == PRR:
        takers = active & ~control.waiting
        if takers and (selected == front.pointer or not takers >> front.pointer & 1):
            front.pointer = after(front.pointer, takers, config.warps)
    elif policy == GTO:
        for w in range(config.warps):
            if w == front.last and selected != w:
                front.age[w] = 0
            elif eligible >> w & 1 and front.age[w] < OLDEST:
                front.age[w] += 1
    elif policy == GTO_DISPATCH and control.activates:
        for w in range(config.warps):
            if control.activates >> w & 1:
                front.activated[w] = cycle
    elif policy == TWO_LEVEL:
        if selected != NONE:
            front.group_last[selected // front.group_warps] = selected
    elif policy in (VARIABLE_RATE, VARIABLE_RATE_STRICT):
        if selected != NONE and not eligible >> front.owner[front.slot] & 1:
            front.passed = selected
        front.slot = front.slot + 1 if active and front.slot + 1 < front.frame else 0
    elif policy == CCWS:
        keep_scores(config, front, active, active & ~control.waiting, lost, selected)
    if selected != NONE:
        front.last = selected
