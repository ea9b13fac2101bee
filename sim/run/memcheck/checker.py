"""The memory checker: watches the golden model in lock step, access by access."""

from __future__ import annotations

import numpy as np

from ...machine.golden.memory_ops import common_address, loaded
from ...machine.golden.state import State
from ...machine.golden.view import View
from .access import Access
from .areas import DeclaredAreas
from .common import Common
from .finding import SAME_VALUE, Finding, Side
from .leftovers import Leftover, leftovers
from .order import LANE_BITS, MAX_ACCESSES
from .origins import WHOLE
from .plan import Plan
from .shadow import DECLARED, WORD_BYTES, WRITTEN, spread
from .values import Values

__all__ = ["ORDERING", "STACK_POINTER", "MemCheck"]

#: The register whose writes :meth:`MemCheck.commit` must see.
STACK_POINTER = 2
_FENCE, _SYSTEM, _IMMEDIATE, _REGISTER = 0x0F, 0x73, 0x13, 0x33
_ACTIVE_WARPS = 0xCC3
#: The opcodes that it must see: they order accesses.
ORDERING = frozenset((_FENCE, _SYSTEM))
_ALL = {size: (spread(DECLARED, size), spread(WRITTEN, size)) for size in (1, 2, 4)}

#: The flags of a byte that is declared and written.
_DEFINED = {size: spread(DECLARED | WRITTEN, size) for size in (1, 2, 4)}


class MemCheck:
    """Watch one program on the golden model ``state`` (a ``Watch`` of it); ``findings``: the defects found.

    The caller sets ``cycle`` before each step of the model, and passes each executed instruction to :meth:`commit`.
    docs/memcheck.md lists the defects found and those missed. ``strict``: stores of the same value are races, too.
    ``common``: shared with the checkers of other SMs; ``first_warp``: the number of this SM's first warp there.
    """

    def __init__(
        self, state: State, declared: DeclaredAreas, *, strict: bool = False, common: Common | None = None,
        first_warp: int = 0,
    ) -> None:
        config = state.config
        common = common or Common(config, declared)
        self.cycle = 0
        self._strict = strict
        self._findings, self.findings = common.findings, common.findings.all
        self._state = state
        self._config = config
        self._declared = declared
        self._flags, self._cells, self._order = common.flags, common.cells, common.order
        self._origins, self._stacks = common.origins, common.stacks
        # The number of warp 0 in all but the golden model and the registers.
        self._first = first_warp
        self._values = Values(config, lambda warp, *decided: self._decided(warp + first_warp, *decided))
        self._plan: Plan | None = None
        # The console and the counters lie below this address: accesses there never race.
        self._io_end = config.memory_map.user
        self._lanes = np.arange(config.threads)
        # Warps whose next access, if it is a store, is a flag for other warps.
        self._fenced: set[int] = set()

    def leftovers(self) -> list[Leftover]:
        """The bytes left in memory that depend on uninitialised values."""
        return leftovers(self._flags.stored(), self._origins)

    # Callbacks from the golden model.

    def before(self, view: View, pc: int, word: int) -> None:
        """See :class:`sim.machine.golden.watch.Watch`."""
        values = self._values
        plan = values.plans.get(word)
        if plan is None or values.marked[view.first_row] & plan.touched:
            plan = values.before(view, pc, word)
        self._plan = plan

    def barrier(self, warps: list[int]) -> None:
        """See :class:`sim.machine.golden.watch.Watch`."""
        self._order.meet([warp + self._first for warp in warps])

    def spawn(self, issuer: int, mask: int, warps: list[int]) -> None:
        """See :class:`sim.machine.golden.watch.Watch`. The issuer is alone: all other warps ended before."""
        if warps:
            self._stacks.share(issuer + self._first, mask)
        self._order.meet([warp + self._first for warp in (issuer, *warps)], self._own_warps())

    def _own_warps(self) -> list[int]:
        return list(range(self._first, self._first + self._config.warps))

    def commit(self, warp: int, pc: int, mask: int, word: int, rd: int | None) -> None:
        """``warp`` has executed ``word``, and written ``rd``.

        Does nothing unless the opcode is in ORDERING or ``rd`` is STACK_POINTER: callers may omit other instructions.
        """
        opcode = word & 0x7F
        number = warp + self._first
        if opcode == _FENCE:
            self._fenced.add(number)
            self._order.fence(number)
        elif opcode == _SYSTEM and word >> 20 == _ACTIVE_WARPS:
            ended = [other for other, runs in enumerate(self._state.active) if not runs]
            self._order.learn(number, [other + self._first for other in ended])
        if rd == STACK_POINTER:
            self._move(number, pc, mask, word)

    def _move(self, warp: int, pc: int, mask: int, word: int) -> None:
        """Handle a new stack pointer."""
        lanes = self._lanes[mask >> self._lanes & 1 == 1]
        values = self._state.lanes_of(warp - self._first)[STACK_POINTER, lanes].astype(np.int64)
        harts = lanes + warp * self._config.threads
        sources = {word >> 15 & 31} | ({word >> 20 & 31} if word & 0x7F == _REGISTER else set())
        relative = word & 0x7F in (_IMMEDIATE, _REGISTER) and STACK_POINTER in sources
        freed, moved = self._stacks.move(harts, values, relative)
        for first, end in freed:
            self._flags.forget(first, end)
        if moved is not None:
            position, value, end = moved
            side = Side(warp, int(lanes[position]), pc, self.cycle, "moves")
            self._stacks.overflow(harts, values, side)
            self._report("stack", value, 4, side, f"{end - value} bytes below the end of its stack", None)

    def access(
        self, warp: int, pc: int, lanes: np.ndarray, addresses: np.ndarray, size: int, data: np.ndarray | None
    ) -> None:
        """See :class:`sim.machine.golden.watch.Watch`."""
        warp += self._first
        address = common_address(addresses)
        if address is None:
            low, high = int(np.minimum.reduce(addresses)), int(np.maximum.reduce(addresses))
        elif data is None and self._is_plain(warp, pc, lanes.item(0), address, size):
            return
        else:
            low = high = address
        stacks, active = self._stacks, None
        on_stack = low < stacks.top and high >= stacks.bottom
        if low == high and not on_stack and not stacks.overflows:
            # If several lanes store to one place, the highest lane wins.
            one = slice(0, 1) if data is None else slice(-1, None)
            active = lanes
            lanes, addresses, data = lanes[one], addresses[one], data if data is None else data[one]
        access = Access(warp, pc, lanes, addresses, size, data)
        if stacks.overflows:
            access = self._behind_stack(access)
        if on_stack:
            access = self._check_stacks(access)
        access = self._check_flags(access, low, high, active)
        if access.common is not None:
            access = access.where(access.common)
        if len(access.addresses) and high >= self._io_end:
            self._check_order(access)
        self._fenced.discard(warp)

    def _is_plain(self, warp: int, pc: int, lane: int, address: int, size: int) -> bool:
        """Whether a load of all lanes from one address, the lowest of them ``lane``, has nothing to report.

        If so, it is noted. This covers most loads of many programs, with numbers instead of arrays; other loads are
        not noted.
        """
        stacks, order, cells = self._stacks, self._order, self._cells
        if stacks.bottom <= address < stacks.top or stacks.overflows:
            return False
        if ~self._flags.read_one(address, size) & _DEFINED[size]:
            return False
        if address >= self._io_end:
            cell = cells.word(address) if size == WORD_BYTES else None
            if cell is None or order.count == MAX_ACCESSES - 1:
                return False
            if not order.follows(warp, cells.writes.item(cell) >> LANE_BITS):
                return False
            cells.reads[cell, warp] = (order.note(warp, pc, self.cycle, False) << LANE_BITS) + lane
        self._fenced.discard(warp)
        return True

    # The steps of a check. Each returns the part of the access that the next step checks.

    def _behind_stack(self, access: Access) -> Access:
        """Report accesses to memory that an overflown stack covers beyond its end."""
        harts = access.lanes + access.warp * self._config.threads
        bad = self._stacks.below(harts, access.addresses)
        if not bad.any():
            return access
        mover, _ = self._stacks.overflows[int(harts[bad.argmax()])]
        self._bad(access, "stack", bad, "past the end of its stack, since", mover)
        return access.where(~bad)

    def _check_flags(self, access: Access, low: int, high: int, active: np.ndarray | None) -> Access:
        """Check for undeclared bytes; note writes, propagate undefined bits. ``active``: one access for all these."""
        if not len(access.addresses):
            return access
        known, size = self._flags, access.size
        declared, written = _ALL[size]
        access.places = known.places(access.addresses, low, high)
        flags = known.read(access.places, size)
        outside = flags & declared != declared
        if outside.any():
            first = int(access.addresses[outside.argmax()])
            self._bad(access, "outside", outside, self._declared.where(known.first_undeclared(first, size)), None)
            access, flags = access.where(~outside), flags[~outside]
        if access.store:
            self._note_store(access, flags)
        elif np.count_nonzero(flags & written != written):
            self._note_load(access, active)
        return access

    def _note_load(self, access: Access, active: np.ndarray | None) -> None:
        """Note a load of bytes that are partly undefined."""
        plan = self._plan
        assert plan is not None
        if plan.rd is None:
            return
        bits, origins = self._flags.undefined(access.places, access.size)
        new = (bits != 0) & (origins == 0)
        if new.any():
            origins[new] = self._origins.note(
                access.warp, access.pc, self.cycle, access.lanes[new], access.addresses[new], access.size
            )
        origins = np.where(bits == (1 << 8 * access.size) - 1, origins | np.uint32(WHOLE), origins)
        if plan.signed is not None:
            bits = bits.astype(plan.signed).astype(np.int32).view(np.uint32)
        lanes = access.lanes if active is None else active
        self._values.write(access.warp - self._first, plan.rd, lanes, bits, origins)

    def _note_store(self, access: Access, flags: np.ndarray) -> None:
        """Note a store: its undefined bits go with the data, or leave the machine."""
        plan, values, warp, size = self._plan, self._values, access.warp, access.size
        assert plan is not None
        source, row = plan.sources[1], warp - self._first
        if values.marked[row] >> source & 1:
            bits = values.bits[row, source, access.lanes] & np.uint32((1 << 8 * size) - 1)
            if bits.any():
                origins = values.origins[row, source, access.lanes]
                leaves = (bits != 0) & (access.addresses < self._io_end)
                if leaves.any():
                    self._decided(warp, access.pc, "stores for the host", access.lanes[leaves], origins[leaves])
                    bits[leaves] = 0
                stores = self._origins.note(warp, access.pc, self.cycle, access.lanes, access.addresses, size)
                self._flags.write_undefined(access.places, size, bits, origins, stores)
                return
        self._flags.write(access.places, size, flags)

    def _decided(self, warp: int, pc: int, verb: str, lanes: np.ndarray, origins: np.ndarray) -> None:
        """Report that an action of ``lanes``, on values from ``origins``, depends on uninitialised memory."""
        side = Side(warp, int(lanes[0]), pc, self.cycle, verb)
        other, address, size = self._origins.of(int(origins[0]), "loads")
        self._report("unwritten", address, size, side, "not written when", other, len(lanes))

    def _check_stacks(self, access: Access) -> Access:
        """Check for accesses to other lanes' stacks; note the lanes whose memory several warps may use."""
        harts = access.lanes + access.warp * self._config.threads
        forbidden, common, owner = self._stacks.judge(harts, access.addresses)
        if forbidden.any():
            whose = self._named(*divmod(int(owner[forbidden.argmax()]), self._config.threads))
            self._bad(access, "stack", forbidden, f"in the stack of {whose}", None)
        access.common = common
        return access.where(~forbidden)

    def _check_order(self, access: Access) -> None:
        """Check for races: two warps, at least one of them writing, and nothing that orders them."""
        order, known, warp, store = self._order, self._cells, access.warp, access.store
        if order.count == MAX_ACCESSES - 1:
            self._forget()
        cells, each = known.of(access.addresses, access.size)
        flag = store and warp in self._fenced and len(access.addresses) == 1
        writers = known.writes.take(cells) >> LANE_BITS
        if not store:
            order.take_flags(warp, writers)
        races = order.unordered(warp, writers)
        if store and not flag:
            self._check_readers(access, cells)
        if races.any() and not flag:
            first = int(races.argmax())
            other = int(known.writes[cells[first]])
            self._race_of_stores(access, races, other) if store else self._race(access, races, other, "stores")
        number = order.note(warp, access.pc, self.cycle, flag) << LANE_BITS
        entries = (access.lanes + number).astype(np.uint32)
        if each > 1:
            entries = np.repeat(entries, each)
        if store:
            known.writes[cells] = entries
        else:
            known.reads[cells, warp] = entries

    def _forget(self) -> None:
        """Forget all accesses: their numbers are used up."""
        self._order.forget()
        self._cells.clear()

    def _named(self, warp: int, lane: int) -> str:
        """Return a lane of any warp in words."""
        return f"warp {warp}, lane {lane}"

    def _check_readers(self, access: Access, cells: np.ndarray) -> None:
        """Check a store against earlier loads of other warps."""
        rows = self._cells.reads.take(cells, axis=0)
        if not rows.any():
            return
        races = self._order.unordered(access.warp, rows >> LANE_BITS)
        if races.any():
            row, reader = divmod(int(races.argmax()), rows.shape[1])
            self._race(access, races, int(rows[row, reader]), "loads")

    def _race_of_stores(self, access: Access, races: np.ndarray, other: int) -> None:
        """Report two racing stores: a store that changes nothing is only a note, unless ``strict``."""
        same = np.zeros(len(access.lanes), bool) if self._strict else self._same(access)
        racing = races.reshape(len(access.lanes), -1)
        for part, note in ((racing & ~same[:, None], False), (racing & same[:, None], True)):
            if part.any():
                self._race(access, part, other, "stores", note)

    def _same(self, access: Access) -> np.ndarray:
        """The lanes of a store that leave memory unchanged."""
        assert access.data is not None
        old = loaded(self._state, access.addresses, access.size)
        same = old == access.data & np.uint32((1 << 8 * access.size) - 1)
        if not same.all():
            # If several lanes store to one place, the highest lane wins.
            _, last = np.unique(access.addresses[::-1], return_index=True)
            wins = np.zeros(len(same), bool)
            wins[len(same) - 1 - last] = True
            same |= ~wins
        return np.broadcast_to(same, access.lanes.shape)

    def _race(self, access: Access, races: np.ndarray, other: int, verb: str, note: bool = False) -> None:
        """Report a race. ``races``: whether each cell of each lane races, lane by lane."""
        bad = np.asarray(races.reshape(len(access.lanes), -1).any(axis=1))
        warp, pc, cycle = self._order.of(other >> LANE_BITS)
        lane = other & (1 << LANE_BITS) - 1
        what = SAME_VALUE if note else "no barrier since"
        self._bad(access, "race", bad, what, Side(warp, lane, pc, cycle, verb), note)

    def _bad(
        self, access: Access, kind: str, bad: np.ndarray, what: str, other: Side | None, note: bool = False
    ) -> None:
        """Report the lanes of ``access`` in ``bad``."""
        first = int(bad.argmax())
        side = Side(access.warp, int(access.lanes[first]), access.pc, self.cycle, "stores" if access.store else "loads")
        self._report(kind, int(access.addresses[first]), access.size, side, what, other, int(bad.sum()), note)

    def _report(
        self, kind: str, address: int, size: int, side: Side, what: str, other: Side | None, count: int = 1,
        note: bool = False,
    ) -> None:
        self._findings.add(Finding(kind, address, size, side, what, other, count, note))
