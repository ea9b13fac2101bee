"""Loads and stores: each lane accesses local memory or the backing store, depending on its address."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metronome.hdl.config import FaultCause

from ..memory.store import AccessError
from .records import FaultError
from .state import State
from .view import View

__all__ = ["common_address", "load", "loaded", "store"]

_SIGNED_DTYPES = {1: np.int8, 2: np.int16}


def _check_aligned(view: View, addrs: np.ndarray, size: int, cause: FaultCause) -> None:
    if size > 1 and int(np.bitwise_or.reduce(addrs)) & (size - 1):
        position = int(np.argmax(addrs & (size - 1) != 0))
        raise FaultError(cause, view.warp_of(position), int(addrs[position]))


def _access_fault(state: State, view: View, addrs: np.ndarray, size: int, cause: FaultCause) -> FaultError:
    """Return the fault of the first of ``addrs`` that is in neither local memory nor the backing store."""
    local = (addrs >= state.local.base) & (addrs < state.local.end)
    inside = (addrs >= state.memory.memory_map.first) & (addrs <= state.memory.memory_map.end - size)
    position = int(np.argmax(~(local | inside)))
    return FaultError(cause, view.warp_of(position), int(addrs[position]))


def _bounds(addrs: np.ndarray) -> tuple[int, int]:
    """Return the lowest and the highest address; the array methods would take twice as long."""
    return int(np.minimum.reduce(addrs)), int(np.maximum.reduce(addrs))


def loaded(state: State, addrs: np.ndarray, size: int) -> np.ndarray:
    """Return the zero-extended values at ``addrs`` (lanes,); the shape is (1,) if all addresses are equal.

    Raises
    ------
    AccessError
        If one of them is in neither local memory nor the backing store.
    """
    low, high = _bounds(addrs)
    if low == high:
        addrs = addrs[:1]
    local = state.local
    if high < local.base or low >= local.end:
        return state.memory.gather(addrs, size, (low, high))
    if low >= local.base and high < local.end:
        return local.gather(addrs, size)
    inside = (addrs >= local.base) & (addrs < local.end)
    values = np.empty(addrs.shape, np.uint32)
    values[~inside] = state.memory.gather(addrs[~inside], size)
    values[inside] = local.gather(addrs[inside], size)
    return values


def common_address(addrs: np.ndarray) -> int | None:
    """Return the address if it is the same for all lanes, else None: loads from one address have a fast path."""
    raw = addrs.tobytes()
    return int.from_bytes(raw[:4], "little") if raw == raw[:4] * len(addrs) else None


def _load_one(state: State, view: View, pc: int, address: int, addrs: np.ndarray, size: int) -> int:
    """Load from one ``address`` for all lanes (``addrs`` repeats it) and return the zero-extended value."""
    if address & size - 1:
        raise FaultError(FaultCause.LOAD_MISALIGNED, view.warp_of(0), address)
    if state.recorder is not None:
        state.recorder.access(addrs, None)
    local = state.local
    if local.base <= address < local.end:
        value = local.read(address, size)
    else:
        try:
            value = state.memory.read_number(address, size)
        except AccessError:
            raise FaultError(FaultCause.LOAD_ACCESS, view.warp_of(0), address) from None
    if state.watch is not None:
        state.watch.access(view.warps[0], pc, view.index, addrs, size, None)
    return value


def _gather(state: State, view: View, addrs: np.ndarray, size: int) -> np.ndarray:
    try:
        return loaded(state, addrs, size)
    except AccessError:
        raise _access_fault(state, view, addrs, size, FaultCause.LOAD_ACCESS) from None


def _check_answered(state: State, view: View, addrs: np.ndarray, size: int) -> None:
    """Raise the access fault of a store before the store executes, if it has one."""
    memory_map = state.memory.memory_map
    if int(addrs.min()) < memory_map.first or int(addrs.max()) > memory_map.end - size:
        local = (addrs >= state.local.base) & (addrs < state.local.end)
        if not (local | (addrs >= memory_map.first) & (addrs <= memory_map.end - size)).all():
            raise _access_fault(state, view, addrs, size, FaultCause.STORE_ACCESS)


def _scatter(state: State, view: View, addrs: np.ndarray, data: np.ndarray, size: int) -> None:
    low, high = _bounds(addrs)
    local = state.local
    try:
        if high < local.base or low >= local.end:
            state.memory.scatter(addrs, data, size, (low, high))
        elif low >= local.base and high < local.end:
            local.scatter(addrs, data, size)
        else:
            inside = (addrs >= local.base) & (addrs < local.end)
            state.memory.scatter(addrs[~inside], data[~inside], size)
            local.scatter(addrs[inside], data[inside], size)
    except AccessError:
        raise _access_fault(state, view, addrs, size, FaultCause.STORE_ACCESS) from None


def load(rd: int, rs1: int, imm: int, size: int, *, signed: bool) -> Callable[[State, View, int], None]:
    """rd := ``size`` bytes at rs1 + ``imm``, extended by sign or by zero."""
    offset = np.array(imm & 0xFFFF_FFFF, np.uint32)
    extend = _SIGNED_DTYPES.get(size) if signed else None

    def execute(state: State, view: View, pc: int) -> None:
        addrs = view.active(view.r[rs1] + offset)
        address = common_address(addrs)
        if address is not None:
            value = _load_one(state, view, pc, address, addrs, size)
            if extend is not None and value >> 8 * size - 1:
                value += 0x1_0000_0000 - (1 << 8 * size)
            view.put(rd, value)
            return
        _check_aligned(view, addrs, size, FaultCause.LOAD_MISALIGNED)
        if state.recorder is not None:
            state.recorder.access(addrs, None)
        values = _gather(state, view, addrs, size)
        if state.watch is not None:
            state.watch.access(view.warps[0], pc, view.index, addrs, size, None)
        if extend is not None:
            values = values.astype(extend).astype(np.int32).view(np.uint32)
        view.put_active(rd, values)

    return execute


def store(rs1: int, rs2: int, imm: int, size: int) -> Callable[[State, View, int], None]:
    """Memory at rs1 + ``imm`` := the low ``size`` bytes of rs2, lanes in ascending order."""
    offset = np.array(imm & 0xFFFF_FFFF, np.uint32)

    def execute(state: State, view: View, pc: int) -> None:
        addrs = view.active(view.r[rs1] + offset)
        _check_aligned(view, addrs, size, FaultCause.STORE_MISALIGNED)
        data = view.active(view.r[rs2])
        if state.recorder is not None:
            state.recorder.access(addrs, data)
        if state.watch is not None:
            _check_answered(state, view, addrs, size)
            state.watch.access(view.warps[0], pc, view.index, addrs, size, data)
        _scatter(state, view, addrs, data, size)

    return execute
