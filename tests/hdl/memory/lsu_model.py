"""The load/store unit in plain Python, cycle by cycle: when everything happens, without data.

It knows the program, the takes, and what memory and the writeback port did, and nothing of the unit's signals. Each
cycle's outputs follow from them: who waits in the lookup and why, when a line is asked for, when a load is written.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.probe import LookupWait
from metronome.hdl.memory.seam import CHOSEN
from tests.hdl.memory import part_models
from tests.hdl.memory.queue_model import LINE, Inputs, Part, QueueModel

__all__ = ["LsuModel"]


@dataclass
class Held:
    """The line that memory has sent: of which MSHR; ``fresh`` in its first cycle."""

    miss: int
    line: int
    error: bool
    fresh: bool = True


@dataclass
class Lookup:
    """What becomes of the access in the lookup stage in a cycle: it goes, or it waits.

    ``register``: the MSHR for whose line it waits behind the lookup, as a part.
    """

    register: int | None = None
    hit: bool = False
    forward: bool = False
    joins: bool = False
    goes: bool = False
    wait: LookupWait = LookupWait.NONE


class LsuModel:
    """One unit from power-up; :meth:`step` says what a cycle's outputs are, by name, and ends the cycle."""

    def __init__(self, config: SmConfig) -> None:
        self.config = config
        self.user = config.memory_map.user // LINE
        self.queue = QueueModel(config)
        #: With a ``lookup_latency`` of 2: the accesses in front of the lookup, and whether the one in it is not new.
        self.early = config.lookup_latency > 1
        self.chosen: deque[Part] = deque()
        #: The local access that the banks serve, and the lanes of it that are left.
        self.in_banks: tuple[Any, ...] = ()
        self.again = False
        self.held: Part | None = None
        self.misses = part_models.MissModel(config.line_requests)
        self.parts = part_models.PartModel(config.load_parts)
        self.buffer = part_models.BufferModel(config.store_buffer, early=self.early)
        self.requests = part_models.RequestModel()
        self.responses = part_models.ResponseModel()
        self.cache = part_models.CacheModel(capacity=config.dcache_bytes, ways=config.dcache_ways)
        self.line: Held | None = None
        self.store_fault = self.fault = self.stored = False
        self.fill_error = False

    def step(self, now: Inputs) -> dict[str, Any]:
        state = self._state()
        free = self.responses.free(now.wb_ready)
        load_fault = self.responses.leaves(now.wb_ready)[0] and self.fill_error
        fault_free = not self.store_fault or (not load_fault and not self.early)
        load, store = bool(self.misses.unsent), self.buffer.request is not None
        use_store = self.requests.use_store(load, store)
        sent = now.memory_ready and use_store and store

        self.responses_before, self.fill_error_before = self.responses.slots[0] is not None, self.fill_error
        install = self._install()
        register = self._register(install)
        release = self._releases(free[0], register)
        accepts = self._accepts(now, release)
        completed = now.answer is not None and now.answer[1] and fault_free
        found = self._look_up(install, register, accepts=accepts, slot_free=free[1], sent=sent)
        outputs = state | self._event(found, install) | {
            "request": self._request(load, store, use_store),
            "response ready": now.answer is not None and (completed if now.answer[1] else accepts),
        }

        pushes: list[Any] = [None, None, None]
        if found.goes and not self.held.store and (found.hit or found.forward) and self.held.writes_rd:
            pushes[1] = self.held
        served, pushes[2] = self._banks(free[2]) if self.early else self._local(free[2])
        filled = self.line.miss if release else None
        take = now.answer[0] if accepts else None
        if take is None and self.line is not None and free[0] and self.parts.waiting(self.line.miss):
            take = self.line.miss
        pushes[0] = self.parts.tick(add=None if register is None else (register, self.held), take=take)
        self._ends(now, found, pushes, install=install, accepts=accepts, sent=sent, filled=filled,
                   completed=now.answer[0] if completed else None)
        self._faults(now, load_fault, completed)
        self._advance(now, found, served)
        return outputs

    def _state(self) -> dict[str, Any]:
        """Outputs that are registers, or follow from them alone."""
        pending = {*self.queue.stores, *self.buffer.pending, *(part.warp for part in self.chosen if part.store)}
        if self.held is not None and self.held.store:
            pending.add(self.held.warp)
        wb = self.responses.wb
        busy = (
            self.queue.used, len(self.chosen), len(self.in_banks),
            self.held, self.store_fault, self.fault, self.stored, wb, *self.responses.slots,
            *self.misses.registers, *self.buffer.entries,
        )
        return {
            "ready": self.queue.ready, "idle": all(item is None or item is False or item == 0 for item in busy),
            "stores pending": sum(1 << warp for warp in pending), "fault": self.fault,
            "wb": None if wb is None else (wb.warp, wb.rd, wb.lanes),
        }

    # The line from memory.

    def _install(self) -> int | None:
        """The line that goes into the cache in this cycle: the one after its answer."""
        line = self.line
        goes = line is not None and line.fresh and not line.error and line.line >= self.user
        return line.line if goes and self.cache.present else None

    def _releases(self, slot_free: bool, register: int | None) -> bool:
        """The register of the line is free again when its last part has left, and nobody joins it now."""
        line = self.line
        return line is not None and not self.parts.waiting(line.miss) and slot_free and register != line.miss

    def _accepts(self, now: Inputs, release: bool) -> bool:
        """An answer to a load is taken: the place is free."""
        if now.answer is None or now.answer[1]:
            return False
        return self.line is None or (release and not self.early)

    # The lookup.

    def _register(self, install: int | None) -> int | None:
        """The MSHR that the access waits for, if it becomes a part."""
        access = self.held
        if access is None or access.store or self.cache.hit(access.line) or self.cache.same_set(access.line, install):
            return None
        uncached = access.line < self.user
        if self.buffer.same(access.line, uncached) or self.parts.full:
            return None
        requested = self.misses.same(access.line, uncached)
        if requested and self.cache.present and not uncached:
            return requested[0]
        if self.misses.full or (uncached and requested):
            return None
        return self.misses.registers.index(None)

    def _look_up(self, install: int | None, register: int | None, *, accepts: bool, slot_free: bool,
                 sent: bool) -> Lookup:
        access, found = self.held, Lookup(register=register)
        if access is None:
            return found
        uncached = access.line < self.user
        found.hit = self.cache.hit(access.line)
        if access.store:
            found.wait = self._store_waits(access, install, accepts=accepts, sent=sent)
            found.joins = self.buffer.joined(access.line, uncached, sent) is not None
        else:
            youngest = self.buffer.youngest(access.line, uncached)
            compared = self.again or not self.early
            reads = self.early and (self.buffer.picked is not None or (accepts and self.cache.present))
            found.forward = not found.hit and not uncached and youngest is not None and compared and not reads and (
                not access.bytes & ~self.buffer.entries[youngest].mask)
            found.wait = self._load_waits(access, found, install, slot_free=slot_free)
            found.joins = register in self.misses.same(access.line, False) and self.cache.present and not uncached
        found.goes = found.wait is LookupWait.NONE
        return found

    def _load_waits(self, access: Part, found: Lookup, install: int | None, *, slot_free: bool) -> LookupWait:
        """The rows of "Lookup waits" (docs/memory.md) for a load, from the top."""
        uncached = access.line < self.user
        answered = not access.writes_rd or slot_free
        if self.cache.same_set(access.line, install):
            return LookupWait.FILL
        if found.hit:
            return LookupWait.NONE if answered else LookupWait.WRITEBACK
        if self.buffer.same(access.line, uncached):
            return LookupWait.NONE if found.forward and answered else LookupWait.ORDER
        requested = self.misses.same(access.line, uncached)
        if uncached and requested:
            return LookupWait.ORDER
        if self.parts.full:
            return LookupWait.PARTS
        joins = requested and self.cache.present
        return LookupWait.MSHR if self.misses.full and not joins else LookupWait.NONE

    def _store_waits(self, access: Part, install: int | None, *, accepts: bool, sent: bool) -> LookupWait:
        """The rows for a store."""
        uncached = access.line < self.user
        if self.cache.same_set(access.line, install):
            return LookupWait.FILL
        if not self.buffer.room(access.line, uncached, sent):
            return LookupWait.BUFFER
        arrives = accepts and self.misses.same(access.line, uncached)
        return LookupWait.FILL if install is not None or arrives else LookupWait.NONE

    def _event(self, found: Lookup, install: int | None) -> dict[str, Any]:
        access = self.held
        event: dict[str, Any] = {"wait": found.wait, "access": found.goes, "fill": install}
        if found.goes:
            event |= {"line": access.line, "store": access.store, "warp": access.warp, "first": access.first,
                      "uncached": access.line < self.user, "hit": found.hit, "merge": found.joins,
                      "forward": found.forward}
        return event

    def _request(self, load: bool, store: bool, use_store: bool) -> tuple[bool, int, int] | None:
        """What memory is asked for: (a write, line, number)."""
        if use_store:
            return True, self.buffer.entries[self.buffer.request].line, self.buffer.request
        if load:
            number = self.misses.unsent[0]
            return False, self.misses.registers[number][0], number
        return None

    # The end of the cycle.

    def _local(self, slot_free: bool) -> tuple[list[int], Part | None]:
        """The lanes that the banks serve, and the part that a load of them is."""
        queue = self.queue
        if queue.head is None or queue.head.misaligned or queue.lines or not queue.local:
            return [], None
        access = queue.head
        if access.store or not access.writes_rd:
            return queue.served(), None
        if not slot_free:
            return [], None
        served = queue.served()
        part = Part(warp=access.warp, rd=access.rd, writes_rd=True, lanes=sum(1 << lane for lane in served))
        return served, part

    def _banks(self, slot_free: bool) -> tuple[list[int], Part | None]:
        """The lanes of the head that enter the banks' register, and the part that is served from there."""
        queue, busy, part = self.queue, bool(self.in_banks), None
        if busy:
            access, lanes = self.in_banks
            if access.store or not access.writes_rd or slot_free:
                served = queue.served_of(access, lanes)
                left = [lane for lane in lanes if lane not in served]
                self.in_banks = (access, left) if left else ()
                if not access.store and access.writes_rd:
                    part = Part(warp=access.warp, rd=access.rd, writes_rd=True, lanes=sum(1 << lane for lane in served))
        if busy or queue.head is None or queue.head.misaligned or queue.lines or not queue.local:
            return [], part
        self.in_banks = queue.head, list(queue.local)
        return queue.local, part

    def _ends(self, now: Inputs, found: Lookup, pushes: list[Any], *, install: int | None, accepts: bool, sent: bool,
              filled: int | None, completed: int | None) -> None:
        access = self.held
        uncached = access is not None and access.line < self.user
        requested = self.misses.same(access.line, uncached) if access is not None else []
        write = None
        if found.goes and access.store:
            write = part_models.Entry(access.line, uncached, access.bytes, access, {access.warp}, loads=set(requested))
        answered = None if not accepts else self.misses.registers[now.answer[0]][0]
        load, store = bool(self.misses.unsent), self.buffer.request is not None
        use_store = self.requests.use_store(load, store)
        self.requests.tick(load, store, now.memory_ready)
        self.buffer.tick(write=write, ready=sent, filled=filled, completed=completed,
                         arrives=accepts and self.cache.present)
        self.misses.tick(
            allocate=None if found.register in (None, *requested) else (access.line, uncached), release=filled,
            sent=load and not use_store and now.memory_ready,
        )
        self.cache.tick(use=access.line if found.goes and found.hit else None, fill=install)
        if pushes[0] is not None:
            self.fill_error = now.answer[2] if accepts else self.line.error
            if self.fill_error:
                pushes[0] = Part(warp=pushes[0].warp, rd=pushes[0].rd, writes_rd=pushes[0].writes_rd, lanes=0)
        self.responses.tick(pushes, now.wb_ready)
        if accepts:
            self.line = Held(now.answer[0], answered, now.answer[2])
        elif self.line is not None:
            self.line.fresh = False
            if filled is not None:
                self.line = None

    def _faults(self, now: Inputs, load_fault: bool, completed: bool) -> None:
        head = self.queue.head
        # Two cycles to the lookup: it is known late whether the part of a refused line leaves its slot.
        waits = self.early and self.responses_before and self.fill_error_before
        self._dropped = head is not None and bool(head.misaligned) and not (load_fault or waits or self.store_fault)
        self.fault = load_fault or self.store_fault or self._dropped
        if completed and now.answer[2]:
            self.store_fault = True
        elif not load_fault:
            self.store_fault = False

    def _advance(self, now: Inputs, found: Lookup, served: Sequence[int]) -> None:
        queue = self.queue
        taken = None
        free = not self.early or len(self.chosen) < CHOSEN
        if self.early:
            self.again = True
        if self.held is None or found.goes:
            if self.early:
                self.held, self.again = self.chosen.popleft() if self.chosen else None, False
            else:
                taken = self.held = queue.offers
        if self.early and free and queue.offers is not None:
            taken = queue.offers
            self.chosen.append(taken)
        head = queue.head
        self.stored = head is not None and head.store and not head.misaligned and not queue.started
        queue.tick(now, line_taken=taken is not None, served=served, dropped=self._dropped)
