"""The SIMT extension (isa.md): thread masks, divergence stack, barriers, warp spawning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metronome.hdl.config import FaultCause

from .control import Next, merge
from .records import FaultError, Wait
from .state import State
from .view import View

__all__ = ["bar", "join", "pred", "split", "tmc", "wspawn"]


def _leader_values(state: State, view: View, register: int) -> np.ndarray:
    """Return the register of the leader (highest active lane) of each row, int64 (n,)."""
    return view.r[register][view.row_numbers, state.leaders[view.rows]].astype(np.int64)


def _leader_value(state: State, view: View, register: int) -> int:
    return int(view.r[register][0, state.leaders[view.first_row]])


def _mask_of(state: State, values: np.ndarray) -> np.ndarray:
    """Convert integers (n,) to thread masks (n, threads); bits above the lanes are dropped."""
    return (values[:, None] >> state.lane_numbers & 1).astype(bool)


def _predicate(view: View, register: int, negate: bool) -> np.ndarray:
    """Return the active lanes in which bit 0 of the register, inverted if ``negate``, is set."""
    return (view.r[register] & 1 != int(negate)) & view.mask


def tmc(rs1: int) -> Callable[[State, View, int], Next]:
    """Thread mask := rs1 of the leader; an empty mask ends the warp. One warp at a time."""

    def execute(state: State, view: View, pc: int) -> Next:
        warp = view.warps[0]
        state.set_masks(np.array([warp]), _mask_of(state, np.array([_leader_value(state, view, rs1)])))
        return state.end_if_empty(merge((pc + 4 & 0xFFFF_FFFF, 1 << warp)))

    return execute


def split(rd: int, rs1: int, negate: bool) -> Callable[[State, View, int], Next]:
    """If the active lanes disagree, push, and continue with the larger side (on a tie, the predicate-true one)."""

    def execute(state: State, view: View, pc: int) -> Next:
        then = _predicate(view, rs1, negate)
        other = view.mask & ~then
        then_lanes, other_lanes = np.count_nonzero(then, axis=1), np.count_nonzero(other, axis=1)
        diverges = (then_lanes != 0) & (other_lanes != 0)
        stack = state.stack
        pointer = stack.pointer[view.rows].copy()
        over = diverges & (pointer >= stack.depth)
        if over.any():
            raise FaultError(FaultCause.STACK_OVERFLOW, view.first_warp(over))
        view.put(rd, pointer[:, None])
        if diverges.any():
            rows = np.flatnonzero(diverges)
            warps, entry = rows + view.first_row, pointer[rows]
            then_first = (then_lanes >= other_lanes)[rows, None]
            stack.union[warps, entry] = view.mask[rows]
            stack.other[warps, entry] = np.where(then_first, other[rows], then[rows])
            stack.pc[warps, entry] = pc + 4 & 0xFFFF_FFFF
            stack.visited[warps, entry] = False
            stack.pointer[warps] += 1
            state.set_masks(warps, np.where(then_first, then[rows], other[rows]))
        return pc + 4 & 0xFFFF_FFFF

    return execute


def join(rs1: int) -> Callable[[State, View, int], Next]:
    """End one side of a split: run the other side from its pc, or after both sides continue here with the union."""

    def execute(state: State, view: View, pc: int) -> Next:
        stack = state.stack
        wanted, pointer = _leader_values(state, view, rs1), stack.pointer[view.rows]
        members = view.mask.any(axis=1)
        under = members & (wanted > pointer)
        if under.any():
            raise FaultError(FaultCause.STACK_UNDERFLOW, view.first_warp(under))
        pops = members & (wanted != pointer)
        if not pops.any():
            return pc + 4 & 0xFFFF_FFFF
        rows = np.flatnonzero(pops)
        warps, entry = rows + view.first_row, pointer[rows] - 1
        second = stack.visited[warps, entry]
        masks = np.where(second[:, None], stack.union[warps, entry], stack.other[warps, entry])
        targets = np.where(second, pc + 4 & 0xFFFF_FFFF, stack.pc[warps, entry]).tolist()
        stack.visited[warps, entry] = True
        stack.pointer[warps] -= second
        state.set_masks(warps, masks)
        stay = view.bits & ~view.warp_bits(pops)
        moves = [(target, 1 << warp) for target, warp in zip(targets, warps.tolist(), strict=True)]
        return merge((pc + 4 & 0xFFFF_FFFF, stay), *moves)

    return execute


def pred(rs1: int, rs2: int, negate: bool) -> Callable[[State, View, int], Next]:
    """Keep the lanes with a true predicate; if none is left, mask := rs2 of the leader (0 ends the warp)."""

    def execute(state: State, view: View, pc: int) -> Next:
        kept = _predicate(view, rs1, negate)
        members = view.mask.any(axis=1)
        empty = ~kept.any(axis=1)
        if empty.any():
            kept[empty] = _mask_of(state, _leader_values(state, view, rs2)[empty])
        rows = np.flatnonzero(members)
        state.set_masks(rows + view.first_row, kept[rows])
        return state.end_if_empty(merge((pc + 4 & 0xFFFF_FFFF, view.bits)))

    return execute


def bar(rs1: int, rs2: int) -> Callable[[State, View, int], Next]:
    """Wait until rs2 warps have arrived at barrier rs1 modulo the number of barriers. One warp at a time."""

    def execute(state: State, view: View, pc: int) -> Next:
        warp, after = view.warps[0], pc + 4 & 0xFFFF_FFFF
        asked, count = _leader_value(state, view, rs1), _leader_value(state, view, rs2)
        barrier = asked % state.config.barriers
        if state.recorder is not None:
            state.recorder.arguments(warp, asked, count)
        if count == 1:
            return after
        if state.between_sms is not None and asked >> 31:
            return state.between_sms.arrive(state, warp, after, barrier, count)
        arrived = state.arrived[barrier]
        if len(arrived) + 1 != count:
            arrived.append(warp)
            state.wait(warp, after, Wait(barrier=barrier, asked=asked, barriers=state.config.barriers, count=count))
            return {}
        if state.watch is not None:
            state.watch.barrier([*arrived, warp])
        for other in arrived:
            state.release(other)
        arrived.clear()
        return after

    return execute


def wspawn(rs1: int, rs2: int) -> Callable[[State, View, int], Next]:
    """Start warps 0..rs1-1 at rs2, as soon as this warp is the only active one. One warp at a time."""

    def execute(state: State, view: View, pc: int) -> Next:
        warp, after = view.warps[0], pc + 4 & 0xFFFF_FFFF
        spawn = _leader_value(state, view, rs1), _leader_value(state, view, rs2)
        if state.recorder is not None:
            state.recorder.arguments(warp, *spawn)
        if state.active_mask != 1 << warp:
            state.wait(warp, after, Wait(spawn=spawn))
            return {}
        state.spawn(warp, *spawn)
        return after

    return execute
