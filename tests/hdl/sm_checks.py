"""What must hold in every run, whatever the program: the front end's contract, recounted from the probe."""

from itertools import pairwise
from typing import Any

from metronome.hdl.config import Prediction, SmConfig
from metronome.hdl.layouts.counters import StallReason
from metronome.sim.program.assembler.asm import Program, tmc
from tests.hdl.sm_harness import LINE, Cycle, Run, finish, run_program

__all__ = ["USUAL", "check_front_end", "checked_run", "reference_pick"]

#: The policies that :func:`reference_pick` knows; the others have tests of their own.
USUAL = ("lrr", "gtlrr", "gtlo")

#: d: instruction-buffer slots of a warp, and so the NOPs of an activation or a redirect.
DEPTH = 4
#: A fetch is looked up in t+1, asks for an MSHR in t+2 and for its line in t+3.
REQUEST_AFTER_MISS = 2

#: Opcodes of branches with and without a hint, jalr and jal; opcode and funct3 of fence.i; opcode of the SIMT extension
#: (funct3 0 to 5).
_JUMPS, _FENCE_I, _SIMT = (0x62, 0x63, 0x67, 0x6F), 0x100F, 0x0B


def predicted_offset(instruction: int, prediction: Prediction) -> int | None:
    """The offset to which decode redirects the fetch for a jal or a branch predicted taken; None for all others."""
    sign = instruction >> 31
    if prediction is not Prediction.BTFN:
        return None
    if instruction & 0x7F == 0x6F:
        fields = ((21, 10, 1), (20, 1, 11), (12, 8, 12), (31, 1, 20))
    elif instruction & 0x7F in (0x62, 0x63) and sign == instruction & 1:
        fields = ((8, 4, 1), (25, 6, 5), (7, 1, 11), (31, 1, 12))
    else:
        return None
    offset = sum((instruction >> low & (1 << bits) - 1) << to for low, bits, to in fields)
    return offset - (sign << fields[-1][2] + 1)


def is_control(instruction: int, prediction: Prediction) -> bool:
    """Whether the warp is not eligible before the instruction has resolved."""
    simt = instruction & 0x7F == _SIMT and instruction >> 12 & 7 <= 5
    jump = instruction & 0x7F in _JUMPS and not (instruction & 0x7F == 0x6F and prediction is Prediction.BTFN)
    return simt or jump or instruction & 0x707F == _FENCE_I


def is_waiting(instruction: int) -> bool:
    """bar or wspawn: may resolve later than R."""
    return instruction & 0x7F == _SIMT and instruction >> 12 & 7 in (1, 4)


def reference_pick(policy: str, last: int, eligible: int, warps: int) -> int:
    """The selected warp (policies.md); ``eligible`` is not empty."""
    if policy != "lrr" and eligible >> last & 1:
        return last
    first = 0 if policy == "gtlo" else last + 1
    return next(w % warps for w in range(first, first + warps) if eligible >> (w % warps) & 1)


def checked_run(config: SmConfig, program: Program, **options: Any) -> Run:
    """A run that keeps the front end's contract; the program ends with its last word, even if that does not say so."""
    if program.words()[-1] != tmc(31):
        finish(program)
    run = run_program(config, program, **options)
    check_front_end(run)
    return run


def check_front_end(run: Run) -> None:
    """Selection, NOPs, program order, resolution and suspension of every warp (design.md section 3, P1-P5 and P7)."""
    last = run.config.warps - 1
    for cycle in run.cycles:
        expected = reference_pick(run.policy, last, cycle.eligible, run.config.warps) if cycle.eligible else None
        assert cycle.select == expected, f"cycle {cycle.number}: {cycle.select}, {run.policy} picks {expected}"
        assert cycle.eligible & ~cycle.active == 0, f"cycle {cycle.number}: an inactive warp is eligible"
        last = last if expected is None else expected
        if cycle.issue is not None:
            selected = run.cycles[cycle.number - run.config.issue_latency].select
            assert selected == cycle.issue.warp, f"cycle {cycle.number}: {cycle.issue}, selected was {selected}"
    _check_end(run)
    for warp in range(run.config.warps):
        _check_nops(run, warp)
        _check_order(run, warp)
        _check_resolution(run, warp)
        _check_suspension(run, warp)


def _check_end(run: Run) -> None:
    """``busy`` falls once, and then nothing is left: no selection, result, store or request.

    (A fetch ahead of the program's end may still miss; its request, two cycles behind the miss, and the answer may come
    after the end and do nothing.)
    """
    busy = [c.number for c in run.cycles if c.busy]
    assert busy == list(range(1, len(busy) + 1)), "busy is not one interval from cycle 1 on"
    for c in run.cycles[len(busy) + 1:]:
        events = (c.select, c.issue, c.write, c.store, c.miss)
        assert all(event is None for event in events), f"cycle {c.number}, after the end: {events}"
    late = [request for request in run.requests if request.cycle > len(busy)
            and run.cycles[request.cycle - REQUEST_AFTER_MISS].miss is None]
    assert not late, f"requested after the end: {late}"


def _redirects(run: Run, warp: int) -> list[int]:
    return [c.number for c in run.cycles if c.resolve == warp and c.redirect]


def _check_nops(run: Run, warp: int) -> None:
    """A pop is the slot that the fetch of the d-th selection before filled: with a NOP if it missed or was squashed.

    A jump that is followed at decode, fetched in t, squashes the fetches of t+1..t+3. (One that is on a wrong path
    squashes what the redirect squashes as well.)
    """
    missed = set(run.misses(warp))
    redirects = _redirects(run, warp)
    selections = run.selections(warp)
    turns = [
        selections[index - DEPTH][0] + 3 for index, (cycle, pc) in enumerate(selections)
        if pc is not None and _offset_behind(run, cycle) is not None
    ]
    for turn in turns:
        assert run.cycles[turn].turn == 1 << warp, f"warp {warp}: no jump is followed in cycle {turn}"
    for index, (cycle, pc) in enumerate(selections):
        if index < DEPTH:
            expected = True
        else:
            fetched = selections[index - DEPTH][0]
            expected = fetched + 1 in missed or any(fetched < redirect < cycle for redirect in redirects)
            expected |= any(fetched <= turn < fetched + 3 for turn in turns)
        assert (pc is None) == expected, f"warp {warp}, cycle {cycle}: NOP is {pc is None}, expected {expected}"


def _offset_behind(run: Run, cycle: int) -> int | None:
    """Where the fetch goes on behind the instruction that was selected in ``cycle``, if it follows it at decode."""
    return predicted_offset(run.cycles[cycle + run.config.issue_latency].issue.instruction, run.config.prediction)


def _check_order(run: Run, warp: int) -> None:
    """Between redirects and activations pcs follow one another, or a jump followed at decode.

    A fetch that misses, misses the line of the instruction that issues next behind its slot: with the places of the
    NOPs (:func:`_check_nops`) and the order of the others it follows which pc is fetched when.
    """
    breaks = sorted(_redirects(run, warp) + [c.number for c in run.cycles if c.activate >> warp & 1])
    issues = run.issues(warp)
    for (before, pc), (after, following) in pairwise(issues):
        if not any(before < cycle < after for cycle in breaks):
            offset = _offset_behind(run, before) or 4
            assert following == pc + offset, f"warp {warp}, cycle {after}: {following:#x} after {pc:#x}"
    selections, missed = run.selections(warp), set(run.misses(warp))
    breaks += [c.number for c in run.cycles if c.turn >> warp & 1]
    for index, (fetched, _) in enumerate(selections):
        cycle, pc = next(((t, pc) for t, pc in selections[index + DEPTH:] if pc is not None), (0, None))
        if fetched + 1 in missed and pc is not None and not any(fetched < t < cycle for t in breaks):
            line = run.cycles[fetched + 1].missed_line
            assert pc // LINE * LINE == line, f"warp {warp}: cycle {fetched} missed {line:#x}, {cycle} issues {pc:#x}"


def _check_resolution(run: Run, warp: int) -> None:
    """A control instruction keeps its warp out in t+1..t+R; it resolves in t+R, only bar and wspawn may take longer.

    With an operand register, one without a redirect is a release in stage X, a cycle before t+R.
    """
    early = run.config.operand_register
    resolutions = {c.number for c in run.cycles if c.resolve == warp or (early and c.release >> warp & 1)}
    assert not (early and [c for c in run.cycles if c.resolve == warp and not c.redirect])
    expected = set()
    for t, _ in run.issues(warp):
        x = t + run.config.issue_latency
        issue = run.cycles[x].issue
        if is_control(issue.instruction, run.config.prediction):
            over = x if early and run.cycles[x].release >> warp & 1 else t + run.config.resolve_latency
            out = [c.number for c in run.cycles[t + 1:over + 1] if c.eligible >> warp & 1]
            assert not out, f"warp {warp} has a control instruction from {t} and is eligible in {out}"
            if not is_waiting(issue.instruction):
                expected.add(over)
    faulted = run.fault is not None and run.fault.warp == warp
    assert expected - resolutions == set() or faulted, f"warp {warp} did not resolve in {expected - resolutions}"


def _check_suspension(run: Run, warp: int) -> None:
    """After a miss the warp is out until memory answers for its line, or its fetch was squashed, and no longer.

    (An answer that a fence.i has made stale wakes the warp, too: it misses again.)
    """
    redirects = {*_redirects(run, warp), *(c.number for c in run.cycles if c.turn >> warp & 1)}
    # Without an I-cache only the answer to the warp's own request counts, whose tag is the warp's number.
    tags = range(run.config.icache_mshrs) if run.config.icache_bytes else (warp,)
    for miss in run.misses(warp):
        line = run.cycles[miss].missed_line
        for cycle in run.cycles[miss:]:
            assert not cycle.eligible >> warp & 1, f"warp {warp} is eligible in {cycle.number}, missed in {miss}"
            if cycle.answer in [(line, tag) for tag in tags] or (cycle.number in redirects and cycle.number > miss):
                # Nothing is known of the cycle after the last one that was recorded.
                for following in run.cycles[cycle.number + 1:cycle.number + 2]:
                    _check_awake(run, following, warp)
                break


def _check_awake(run: Run, cycle: Cycle, warp: int) -> None:
    """In the cycle after the answer nothing of the miss is left (that cycle's own lookup cannot be this warp's)."""
    assert cycle.reasons[warp] != StallReason.ICACHE, f"warp {warp} still waits for its line in {cycle.number}"
