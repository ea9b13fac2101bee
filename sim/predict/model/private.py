"""Predictors private to a warp (docs/prediction.md): return stack, jump targets, runs of outcomes, two-bit counters.

What changes with every instruction is kept twice: AHEAD follows the predictions at decode, BEHIND the outcomes in
stage X. A redirect of the warp sets AHEAD to BEHIND. All else changes only with a wrong prediction, which redirects.
"""

from metronome.hdl.prediction_sizes import MOST_RUN, NEAR_BITS, RUN_WAYS, TAG_BITS

from ...machine.events import NONE
from .compiled import inlined
from .partitions import global_warp
from .records import TARGETS
from .steps import place

__all__ = ["ORACLE", "follow", "reset", "restore", "settle"]

AHEAD, BEHIND = 0, 1
#: Instead of predictors: an oracle that knows each warp's next instruction, after a branch or jump.
ORACLE = 2


@inlined
def reset(m, w):
    """Forget everything about a warp, which starts."""
    config, front = m.config[1], m.front[m.part]
    for side in range(2):
        front.stacked[side, w] = 0
        for i in range(config.two_bit):
            front.disagrees[side, w, i] = 0
    for i in range(TARGETS):
        front.jump_target[w, i] = front.run_tag[w, i] = NONE
        front.run_next[w, i] = 0


@inlined
def restore(m, w):
    """Let the predictions of a warp continue from what it has executed: it is redirected."""
    config, front = m.config[1], m.front[m.part]
    front.decoded[w] = m.issue[m.part].position[w]
    front.stacked[AHEAD, w], front.stack_top[AHEAD, w] = front.stacked[BEHIND, w], front.stack_top[BEHIND, w]
    for i in range(config.return_stack):
        front.stack[AHEAD, w, i] = front.stack[BEHIND, w, i]
    for i in range(config.branch_runs):
        front.run_taken[AHEAD, w, i] = front.run_taken[BEHIND, w, i]
        front.run_count[AHEAD, w, i] = front.run_count[BEHIND, w, i]
    for i in range(config.two_bit):
        front.disagrees[AHEAD, w, i] = front.disagrees[BEHIND, w, i]


@inlined
def follow(m, w, code, pc):
    """Predict the instruction in decode: set ``predicted3`` and ``target3`` of the front end."""
    config, front = m.config[1], m.front[m.part]
    front.predicted3, front.target3 = code.predicted, pc + code.offset & 0xFFFF_FFFC
    if not config.learns:
        return
    if config.learns == ORACLE:
        _foresee(m, w, code, pc)
    elif code.indirect:
        _predict_jump(config, front, w, code, pc)
    elif code.conditional:
        front.predicted3 = _direction(config, front, AHEAD, w, code.predicted, pc)
        _count(config, front, AHEAD, w, code.predicted, front.predicted3, pc)
    _stack(config, front, AHEAD, w, code, pc)


@inlined
def settle(m, w, code, pc, taken, target, wrong):
    """Note the outcome of a branch or jump in stage X; ``wrong``: its prediction was wrong."""
    config, front = m.config[1], m.front[m.part]
    if not config.learns:
        return
    if code.indirect:
        stacked = code.pops and front.stacked[BEHIND, w]
        if wrong and config.jump_targets and not stacked:
            front.jump_target[w, (pc >> 2) % config.jump_targets] = target
    elif code.conditional:
        _learn(config, front, w, taken, wrong, pc)
        _count(config, front, BEHIND, w, code.predicted, taken, pc)
    _stack(config, front, BEHIND, w, code, pc)


@inlined
def _foresee(m, w, code, pc):
    """Follow the recorded path. What is decoded on a wrong path (after a join) is not on it, and predicts nothing."""
    front = m.front[m.part]
    at = front.decoded[w]
    front.decoded[w] += 1
    if at >= m.known[global_warp(m, w)]:
        return
    step = m.steps[place(m, w, at)]
    if step.pc == pc and (code.indirect or code.conditional):
        front.predicted3, front.target3 = step.taken, step.next


@inlined
def _predict_jump(config, front, w, code, pc):
    front.predicted3 = 0
    if code.pops and front.stacked[AHEAD, w]:
        front.predicted3 = 1
        front.target3 = _nearby(front.stack[AHEAD, w, front.stack_top[AHEAD, w]], pc)
    elif config.jump_targets:
        target = front.jump_target[w, (pc >> 2) % config.jump_targets]
        if target != NONE:
            front.predicted3, front.target3 = 1, _nearby(target, pc)


@inlined
def _nearby(target, pc):
    """The predicted address: of the one that is kept, the bits that the hardware keeps."""
    near = (4 << NEAR_BITS) - 1
    return (target & near) | (pc & (0xFFFF_FFFF ^ near))


@inlined
def _stack(config, front, side, w, code, pc):
    """Pop, then push: ``stacked`` is the number of addresses, ``stack_top`` the place of the last one."""
    if not config.return_stack:
        return
    if code.pops and front.stacked[side, w]:
        front.stacked[side, w] -= 1
        front.stack_top[side, w] = (front.stack_top[side, w] - 1) % config.return_stack
    if code.pushes:
        front.stacked[side, w] = min(front.stacked[side, w] + 1, config.return_stack)
        front.stack_top[side, w] = (front.stack_top[side, w] + 1) % config.return_stack
        front.stack[side, w, front.stack_top[side, w]] = pc + 4 & 0xFFFF_FFFC


@inlined
def _run_of(config, front, w, pc):
    """Return the entry of a branch among those of its warp, or NONE."""
    if config.branch_runs:
        sets = config.branch_runs // RUN_WAYS
        group = (pc >> 2) % sets * RUN_WAYS
        for i in range(group, group + RUN_WAYS):
            if front.run_tag[w, i] == (pc >> 2) // sets % (1 << TAG_BITS):
                return i
    return NONE


@inlined
def _direction(config, front, side, w, backward, pc):
    """Return the predicted outcome of a branch."""
    usual = backward
    if config.two_bit and front.disagrees[side, w, (pc >> 2) % config.two_bit] >= 2:
        usual = 1 - backward
    run = _run_of(config, front, w, pc)
    if run == NONE:
        return usual
    now, count = front.run_taken[side, w, run], front.run_count[side, w, run]
    length = front.run_length[w, run, now]
    if length:
        return 1 - now if count == length else now
    # Of unknown length: a second outcome against the usual one begins a longer run.
    return now if count >= 2 else usual


@inlined
def _count(config, front, side, w, backward, taken, pc):
    """Let the state that changes with every branch take its outcome, predicted or real."""
    if config.two_bit:
        i = (pc >> 2) % config.two_bit
        if taken != backward:
            front.disagrees[side, w, i] = min(front.disagrees[side, w, i] + 1, 3)
        else:
            front.disagrees[side, w, i] = max(front.disagrees[side, w, i] - 1, 0)
    run = _run_of(config, front, w, pc)
    if run != NONE:
        if front.run_taken[side, w, run] == taken:
            front.run_count[side, w, run] = min(front.run_count[side, w, run] + 1, MOST_RUN + 1)
        else:
            front.run_taken[side, w, run], front.run_count[side, w, run] = taken, 1


@inlined
def _learn(config, front, w, taken, wrong, pc):
    """Learn from a wrong prediction: the length of the run that has ended or goes on, or a branch that has no entry.

    Called before ``_count``, which counts the outcome of a branch with an entry, also that of a new one.
    """
    if not wrong or not config.branch_runs:
        return
    run = _run_of(config, front, w, pc)
    if run == NONE:
        sets = config.branch_runs // RUN_WAYS
        group = (pc >> 2) % sets
        run = group * RUN_WAYS + front.run_next[w, group]
        front.run_next[w, group] = (front.run_next[w, group] + 1) % RUN_WAYS
        front.run_tag[w, run] = (pc >> 2) // sets % (1 << TAG_BITS)
        front.run_length[w, run, 0] = front.run_length[w, run, 1] = 0
        front.run_taken[BEHIND, w, run], front.run_count[BEHIND, w, run] = taken, 0
        return
    now, count = front.run_taken[BEHIND, w, run], front.run_count[BEHIND, w, run]
    # A run that goes on beyond its length, or was too long to be counted, has none.
    front.run_length[w, run, now] = 0 if taken == now or count > MOST_RUN else count
