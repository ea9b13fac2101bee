"""One warp, step by step, when not everything is known: abstract execution (Gustafsson, Ermedahl 2006: SWEET).

What is known is computed by the golden model. Where a warp may go on in two ways, its path parts in two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metronome.hdl.config import LINE_BYTES, SmConfig
from metronome.hdl.isa.csrs import FLOAT_CSRS
from metronome.hdl.isa.ops import FLOAT_UNITS, BranchOp, SimtOp, Unit
from metronome.sim.iss import Iss
from metronome.sim.memory.stacks import to_bus

from .conditions import ZERO, Condition, Values
from .intervals import RULES
from .lanes import TOP
from .masks import mask_between, outcome, refine, word_of
from .memory import Memory
from .order import target_of
from .paths import Access, Path, Split
from .program import Code, Program, RefusedError

__all__ = ["Ends", "Execution", "Meets", "Spawns"]

#: CSRs: the thread mask, the active warps, counters, mscratch and mregion.
_MASK, _WARPS, _COUNTERS, _SCRATCH, _REGION = 0xCC4, 0xCC3, range(0xB00, 0xBA0), 0x340, 0x7C0
#: Instructions behind a split or pred in which its branch is looked for.
_NEAR = 8
#: A store to one of more bytes than that is one to anywhere.
_FAR = 1 << 24
_BRANCHES = {
    BranchOp.EQ: ("eq", True), BranchOp.NE: ("eq", False), BranchOp.LT: ("lt", True), BranchOp.GE: ("lt", False),
    BranchOp.LTU: ("ltu", True), BranchOp.GEU: ("ltu", False),
}
_ENDS = -1


@dataclass(frozen=True)
class Ends:
    """The warp has ended."""


@dataclass(frozen=True)
class Meets:
    """The warp has come to a barrier, which ``count`` warps wait at; it goes on behind it."""

    barrier: int
    count: int


@dataclass(frozen=True)
class Spawns:
    """The warp starts ``count`` warps at ``pc`` as soon as it is alone; it goes on behind that."""

    count: int
    pc: int


Event = Ends | Meets | Spawns


class Execution:
    """Executes instructions on paths of one warp. ``memory`` is shared with the other warps."""

    def __init__(self, config: SmConfig, iss: Iss, warp: int, program: Program, memory: Memory) -> None:
        self.config, self.warp, self.program, self.memory = config, warp, program, memory
        self.values = Values()
        #: Whether there is one path only, which knows its lanes.
        self.alone = True
        self._iss = iss
        self._view = iss.warp_view(warp)
        self._storage = iss.lanes_of(warp)
        self._mask: np.ndarray | None = None
        self._flags_unknown = False
        self._installed: Path | None = None
        self._units = {
            Unit.LSU: self._access, Unit.BRANCH: self._branch, Unit.SIMT: self._simt, Unit.CSR: self._csr,
            Unit.SYSTEM: self._system,
        }

    # Registers.

    def install(self, path: Path) -> None:
        """The golden model works on this path from now on."""
        if path.on.values is not self._storage:
            if self._installed is not None and self._installed.on.values is self._storage:
                self._installed.on.values = self._storage.copy()
            self._storage[...] = path.on.values
            path.on.values = self._storage
        self._installed = path

    # One instruction.

    def step(self, path: Path) -> tuple[list[Path], Event | None]:
        """Execute the next instruction of a path, which is the one installed. Returns what paths there are behind it.

        An event says that the path, the only one then, stops there.
        """
        code = self.program.at(path.pc)
        unit = code.decoded.unit
        if path.may is not self._mask:
            self._mask = path.may
            self._view.select([self.warp], 1 << self.warp, path.may[None], int(path.may.sum()))
        handler = self._units.get(unit)
        if handler is None:
            self._compute(path, code, unit)
            self._next(path, code)
            return [path], None
        return handler(path, code)

    def _next(self, path: Path, code: Code, access: Access | None = None) -> None:
        following = path.pc + 4 & TOP
        path.clock.issue(path.pc, code.decoded, following, access)
        path.pc = following

    def _go(self, path: Path, code: Code, following: int) -> None:
        path.clock.issue(path.pc, code.decoded, following, None)
        path.pc = following

    def _compute(self, path: Path, code: Code, unit: Unit) -> None:
        rd = code.decoded.writes
        known = not code.reads & path.on.dirty or all(
            path.on.known(register, path.may) for register in code.decoded.reads
        )
        if unit in FLOAT_UNITS:
            # The flags tell of the values, or of a path that may not have been taken.
            if not known or not self.alone:
                self._flags_unknown = True
        if known:
            code.model.execute(self._iss, self._view, path.pc)
            if rd is not None:
                path.on.settle(rd, path.may)
        elif rd is not None:
            self._estimate(path, code, rd)
        if rd is not None:
            self._write(path, rd, self._number(path, code))

    def _write(self, path: Path, rd: int, number: int) -> None:
        """A register is written: it holds another value."""
        path.numbers[rd] = number
        path.masks.pop(rd, None)

    def _operands(self, path: Path, code: Code) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        shape = len(path.may)
        constant = np.full(shape, code.constant & TOP, np.int64)
        first = (np.zeros(shape, np.int64),) * 2 if code.first is None else path.on.interval(code.first)
        second = (constant, constant) if code.second is None else path.on.interval(code.second)
        return first, second

    def _estimate(self, path: Path, code: Code, rd: int) -> None:
        shape = len(path.may)
        if code.rule is not None:
            first, second = self._operands(path, code)
            low, high = RULES[code.rule](first, second)
        else:
            flag = code.decoded.row.mnemonic in ("feq.s", "flt.s", "fle.s")
            low, high = np.zeros(shape, np.int64), np.full(shape, 1 if flag else TOP)
        path.on.put(rd, path.may, low, high)

    def _number(self, path: Path, code: Code) -> int:
        rule = code.rule
        if rule is None or code.first is None:
            mnemonic = code.decoded.row.mnemonic
            constant = mnemonic == "addi" or mnemonic == "lui"
            if constant and code.first in (None, 0) and code.constant == 0:
                return ZERO
            return self.values.fresh()
        first = path.numbers[code.first]
        second: int | tuple[str, int] = ("is", code.constant)
        if code.second is not None:
            second = path.numbers[code.second]
        if rule == "add" and first == ZERO and code.second is None:
            return ZERO if code.constant == 0 else self.values.of("is", 0, ("is", code.constant))
        return self.values.of(rule, first, second)

    # Memory.

    def _access(self, path: Path, code: Code) -> tuple[list[Path], Event | None]:
        decoded, base = code.decoded, code.decoded.word >> 15 & 31
        if path.on.known(base, path.may):
            addresses = (path.on.values[base] + np.uint32(code.constant & TOP))[path.may]
            access = self._lines(addresses, decoded.store)
            self.memory.note(self.warp, addresses, store=decoded.store)
            if decoded.store:
                self._store(path, code, addresses)
            else:
                self._load(path, code, addresses)
        else:
            access = self._somewhere(path, code)
        self._next(path, code, access)
        return [path], None

    def _load(self, path: Path, code: Code, addresses: np.ndarray) -> None:
        decoded = code.decoded
        rd = decoded.writes
        if rd is None:
            return
        signed = decoded.row.mnemonic in ("lb", "lh")
        if int(addresses.min()) < self.config.memory_map.user:
            low, high = np.zeros(len(addresses), np.int64), np.full(len(addresses), TOP)
        else:
            low, high = self.memory.load(addresses, decoded.size, signed=signed, overlay=path.overlay)
        all_low, all_high = np.zeros(len(path.may), np.int64), np.zeros(len(path.may), np.int64)
        all_low[path.may], all_high[path.may] = low, high
        path.on.put(rd, path.may, all_low, all_high)
        self._write(path, rd, self.values.fresh())

    def _stored(self, path: Path, code: Code) -> tuple[np.ndarray, np.ndarray]:
        assert code.second is not None
        low, high = path.on.interval(code.second)
        size = code.decoded.size
        if size < 4:
            top = (1 << 8 * size) - 1
            fits = (high <= top) | (low == high)
            low, high = np.where(fits, low & top, 0), np.where(fits, high & top, top)
        return low[path.may], high[path.may]

    def _store(self, path: Path, code: Code, addresses: np.ndarray) -> None:
        low, high = self._stored(path, code)
        size, sure = code.decoded.size, path.must[path.may]
        self._refuse_code(path.pc, int(addresses.min()), int(addresses.max()) + size)
        if self.alone:
            self.memory.store(addresses, size, low, high)
            return
        for address, least, greatest, certain in zip(
            addresses.tolist(), low.tolist(), high.tolist(), sure.tolist(), strict=True
        ):
            word = address & ~3
            before = self.memory.word(word, path.overlay)
            if size < 4:
                least, greatest = _with(before, address & 3, size, least, greatest)
            if not certain:
                least, greatest = min(least, before[0]), max(greatest, before[1])
            path.overlay[word] = least, greatest

    def _somewhere(self, path: Path, code: Code) -> Access:
        """A load or store to addresses that are not all known."""
        base = code.decoded.word >> 15 & 31
        low, high = path.on.interval(base)
        offset = code.constant
        low, high = low[path.may] + offset, high[path.may] + offset
        size = code.decoded.size
        most = int(path.may.sum())
        first, end = int(low.min()), int(high.max()) + size
        far = first < 0 or end > TOP + 1 or end - first > _FAR
        if code.decoded.store:
            if far:
                raise RefusedError("it may store anywhere: the address depends on the inputs and is in no range", path.pc)
            self._refuse_code(path.pc, first, end)
            self.memory.forget(first & ~3, end + 3 & ~3)
            self.memory.note(self.warp, np.arange(first & ~3, end, 4, dtype=np.uint32), store=True)
            for word in [each for each in path.overlay if first - 3 <= each < end]:
                path.overlay[word] = 0, TOP
        elif code.decoded.writes is not None:
            top = TOP if size == 4 or code.decoded.row.mnemonic in ("lb", "lh") else (1 << 8 * size) - 1
            shape = len(path.may)
            path.on.put(code.decoded.writes, path.may, np.zeros(shape, np.int64), np.full(shape, top))
            self._write(path, code.decoded.writes, self.values.fresh())
        lines = most if far else min(most, (end - 1) // LINE_BYTES - first // LINE_BYTES + 1)
        local = self.config.memory_map.local
        inside = far or (first < local + self.config.local_bytes and end > local)
        stacks = self.config.interleaved_stacks
        # Stacks lie elsewhere in memory than in the program's addresses.
        known = not far and (len(stacks) == 0 or end <= stacks.start or first >= stacks.stop)
        within = (first // LINE_BYTES, (end - 1) // LINE_BYTES) if known else None
        return Access(None, lines, most if inside else 0, within)

    def _refuse_code(self, pc: int, first: int, end: int) -> None:
        if self.program.covers(first, end):
            raise RefusedError("it may store to the lines that its code is in: self-modifying code", pc)

    def _lines(self, addresses: np.ndarray, store: bool) -> Access:
        config = self.config
        base = config.memory_map.local
        if len(addresses) == 1 or (addresses == addresses[0]).all():
            address = int(addresses[0])
            if base <= address < base + config.local_bytes:
                return Access((), 0, len(addresses) if store else 1)
            return Access((to_bus(config, address) // LINE_BYTES,), 1, 0)
        local = (addresses >= base) & (addresses < base + config.local_bytes)
        turns = 0
        if local.any():
            words = addresses[local] >> 2
            words = words if store else np.unique(words)
            turns = int(np.bincount(words % np.uint32(config.threads)).max())
            addresses = addresses[~local]
        stacks = config.interleaved_stacks
        if len(addresses) and int(addresses.max()) >= stacks.start and len(stacks):
            lines = {to_bus(config, each) // LINE_BYTES for each in addresses.tolist()}
        else:
            lines = set((addresses >> 6).tolist())
        return Access(tuple(sorted(lines)), len(lines), turns)

    # Control.

    def _condition(self, path: Path, code: Code) -> Condition:
        """What a branch asks if it is taken."""
        kind, holds = _BRANCHES[code.decoded.row.op]  # type: ignore[index]
        assert code.first is not None and code.second is not None
        a, b = path.numbers[code.first], path.numbers[code.second]
        if kind == "eq":
            flags = frozenset(
                path.numbers[register] for register in (code.first, code.second)
                if int(path.on.interval(register)[1][path.may].max()) <= 1
            )
            made = self.values.equal(a, b, flags=flags)
        else:
            made = Condition(kind, a, b, True)
        return made if holds else made.negated()

    def _branch(self, path: Path, code: Code) -> tuple[list[Path], Event | None]:
        pc, target = path.pc, target_of(code.decoded, path.pc)
        op = code.decoded.row.op
        if op in (BranchOp.JAL, BranchOp.JALR):
            self._jump(path, code, target)
            return [path], None
        assert target is not None and code.first is not None and code.second is not None
        following = pc + 4 & TOP
        decided = path.decided.pop(pc, None)
        if decided is None:
            kind, holds = _BRANCHES[op]  # type: ignore[index]
            yes, no = outcome(kind, path.on.interval(code.first), path.on.interval(code.second))
            yes, no = (yes, no) if holds else (no, yes)
            decided = _agreed(path, yes, no)
        if decided is not None:
            if decided and target == pc:
                raise RefusedError("a jump to itself: the program does not end", pc)
            self._go(path, code, target if decided else following)
            return [path], None
        condition = self._condition(path, code)
        taken, other = path, self._fork(path)
        paths = []
        for each, truth, to in ((taken, condition, target), (other, condition.negated(), following)):
            stays = ~no if each is taken else ~yes
            if bool((each.must & ~stays).any()):
                continue
            each.narrow(each.may & stays, each.must)
            if refine(each, truth):
                self._go(each, code, to)
                paths.append(each)
        return paths, None

    def _jump(self, path: Path, code: Code, target: int | None) -> None:
        pc, link = path.pc, code.decoded.writes
        if target is None:
            register = code.first
            assert register is not None
            low, high = path.on.interval(register)
            lanes = path.must if path.must.any() else path.may
            low, high = low[lanes], high[lanes]
            if int(low.min()) != int(high.max()):
                raise RefusedError("an indirect jump whose targets are not known", pc)
            word = code.decoded.word
            target = int(low[0]) + ((word >> 20) - (word >> 31 << 12)) & TOP - 1
        if link is not None:
            shape = len(path.may)
            after = np.full(shape, pc + 4 & TOP, np.int64)
            path.on.put(link, path.may, after, after)
            self._write(path, link, self.values.fresh())
            if any(entry == target for entry, _ in path.calls):
                raise RefusedError("recursion: the depth of the calls is not bounded", pc)
            path.calls.append((target, pc + 4 & TOP))
            path.turns.append({})
        elif code.decoded.row.op is BranchOp.JALR and path.calls and path.calls[-1][1] == target:
            path.calls.pop()
            path.turns.pop()
        if target == pc:
            raise RefusedError("a jump to itself: the program does not end", pc)
        self._go(path, code, target)

    def _fork(self, path: Path) -> Path:
        self.alone = False
        return path.fork()

    def _system(self, path: Path, code: Code) -> tuple[list[Path], Event | None]:
        if code.decoded.row.mnemonic not in ("fence", "fence.i", "mret"):
            raise RefusedError(f"it would fault: {code.decoded.row.mnemonic}", path.pc)
        self._next(path, code)
        return [path], None

    def _csr(self, path: Path, code: Code) -> tuple[list[Path], Event | None]:
        number, rd = code.decoded.csr, code.decoded.writes
        assert number is not None
        shape = len(path.may)
        if code.decoded.writes_csr:
            self._write_csr(path, code, number)
        free = number in _COUNTERS or number == _WARPS or (number in FLOAT_CSRS and self._flags_unknown)
        mask = number == _MASK and not path.sure
        if not code.decoded.writes_csr and not free and not mask:
            self._iss.mask_words[self.warp] = word_of(path.may)
            code.model.execute(self._iss, self._view, path.pc)
            if rd is not None:
                path.on.settle(rd, path.may)
        elif rd is not None:
            low, high = (max(1, word_of(path.must)), word_of(path.may)) if mask else (0, TOP)
            path.on.put(rd, path.may, np.full(shape, low), np.full(shape, high))
        if rd is not None:
            self._write(path, rd, self.values.fresh())
            if number == _MASK:
                path.masks[rd] = path.sides[-1]
        self._next(path, code)
        return [path], None

    def _write_csr(self, path: Path, code: Code, number: int) -> None:
        """A CSR is written: the region is of no account, the rest has to be known, and on the only path."""
        if number in (_SCRATCH, *FLOAT_CSRS):
            from_register = code.decoded.row.rs1 is not None
            # The operand is that of lane 0, active or not.
            lane = np.arange(len(path.may)) == 0
            known = not from_register or path.on.known(code.decoded.word >> 15 & 31, lane)
            if not known or not self.alone:
                raise RefusedError("it writes a CSR in a way that depends on the inputs", path.pc)
        if self.alone and number != _REGION and number in (_SCRATCH, *FLOAT_CSRS):
            code.model.execute(self._iss, self._view, path.pc)
            if code.decoded.writes is not None:
                path.on.settle(code.decoded.writes, path.may)

    # Thread masks.

    def _leader(self, path: Path, register: int) -> tuple[int, int]:
        """What the register of the highest active lane lies in."""
        highest = np.flatnonzero(path.must)
        lanes = path.may & (np.arange(len(path.may)) >= (highest[-1] if len(highest) else 0))
        low, high = path.on.interval(register)
        return int(low[lanes].min()), int(high[lanes].max())

    def _known(self, path: Path, register: int, what: str) -> int:
        low, high = self._leader(path, register)
        if low != high:
            raise RefusedError(f"{what} depends on the inputs", path.pc)
        return low

    def _simt(self, path: Path, code: Code) -> tuple[list[Path], Event | None]:
        op, word = code.decoded.row.op, code.decoded.word
        first, second = word >> 15 & 31, word >> 20 & 31
        if op is SimtOp.SPLIT:
            return self._split(path, code, first, negate=bool(second & 1))
        if op is SimtOp.JOIN:
            return self._join(path, code, first)
        if op is SimtOp.PRED:
            return self._pred(path, code, (first, second), negate=bool(word >> 7 & 1))
        if op is SimtOp.TMC:
            return self._tmc(path, code, first)
        if not self.alone:
            raise RefusedError("whether it comes to a barrier or starts warps depends on the inputs", path.pc)
        if op is SimtOp.BAR:
            number = self._known(path, first, "which barrier it waits at") % self.config.barriers
            count = self._known(path, second, "how many warps a barrier waits for")
            self._next(path, code)
            return [path], Meets(number, count)
        count = self._known(path, first, "how many warps it starts")
        pc = self._known(path, second, "where it starts warps")
        self._next(path, code)
        return [path], Spawns(count, pc)

    def _tmc(self, path: Path, code: Code, register: int) -> tuple[list[Path], Event | None]:
        low, high = self._leader(path, register)
        may, must = mask_between(low, high, self.config.threads)
        if not may.any():
            if not self.alone:
                raise RefusedError("whether a warp ends depends on the inputs", path.pc)
            self._go(path, code, _ENDS)
            return [path], Ends()
        if low & ((1 << self.config.threads) - 1) == 0 and not must.any():
            raise RefusedError("whether a warp ends depends on the inputs: its thread mask may be empty", path.pc)
        path.restore(register)
        path.widen(may, must, self.values)
        self._next(path, code)
        return [path], None

    def _predicate(self, path: Path, register: int, *, negate: bool) -> tuple[np.ndarray, np.ndarray, Condition]:
        """Of each active lane whether it is true for certain, whether it is false, and what is asked."""
        low, high = path.on.interval(register)
        known = low == high
        bit = (low & 1).astype(bool) ^ negate
        condition = self.values.bit(path.numbers[register])
        return known & bit & path.may, known & ~bit & path.may, condition.negated() if negate else condition

    def _decide(self, path: Path, condition: Condition) -> None:
        """If the next branch asks what is true of every active lane, it is known."""
        decided = self._decided(path, condition)
        if decided is not None:
            path.decided.update([decided])

    def _decided(self, path: Path, condition: Condition) -> tuple[int, bool] | None:
        """The pc of the next branch, and whether it is taken if every active lane answers the ``condition``."""
        pc = path.pc + 4 & TOP
        written: set[int] = set()
        for _ in range(_NEAR):
            code = self.program.at(pc)
            decoded = code.decoded
            if decoded.unit in (Unit.BRANCH, Unit.SIMT):
                if decoded.row.op not in _BRANCHES or written & set(decoded.reads):
                    return None
                asks = self._condition(path, code)
                return (pc, asks == condition) if asks in (condition, condition.negated()) else None
            if decoded.writes is not None:
                written.add(decoded.writes)
            pc += 4
        return None

    def _split(self, path: Path, code: Code, register: int, *, negate: bool) -> tuple[list[Path], Event | None]:
        true, false, condition = self._predicate(path, register, negate=negate)
        pointer = len(path.splits)
        paths = []
        before = path
        makers = []
        may_true, may_false = path.may & ~false, path.may & ~true
        if not (path.must & false).any() and may_true.any():
            makers.append((may_true, path.must & may_true, condition, None))
        if not (path.must & true).any() and may_false.any():
            makers.append((may_false, path.must & may_false, condition.negated(), None))
        if may_true.any() and may_false.any() and path.most > 1:
            sides = (may_true, path.must & true), (may_false, path.must & false)
            if int(may_true.sum()) >= int((path.must & false).sum()):
                makers.append((*sides[0], condition, sides[1]))
            if int(may_false.sum()) > int((path.must & true).sum()):
                makers.append((*sides[1], condition.negated(), sides[0]))
        copies = [before] + [self._fork(before) for _ in makers[1:]]
        for each, (may, must, asks, other) in zip(copies, makers, strict=True):
            if code.decoded.writes is not None:
                depth = np.full(len(each.may), pointer)
                each.on.put(code.decoded.writes, each.may, depth, depth)
                self._write(each, code.decoded.writes, self.values.fresh())
            if other is None:
                each.narrow(may, must)
            else:
                if pointer >= self.config.stack_depth:
                    raise RefusedError("the divergence stack may overflow", path.pc)
                second = each.fork()
                second.narrow(*other)
                if not refine(second, asks.negated()):
                    continue
                union = each.may.copy(), each.must.copy()
                decided = self._decided(second, asks.negated())
                # The larger side goes first.
                most = each.most, each.most // 2
                split = Split(path.pc + 4 & TOP, False, union, (second.may, second.must), most, decided, each.off)
                each.part(split, (may, must), each.most - 1, second.on, self.values)
            if refine(each, asks):
                self._decide(each, asks)
                paths.append(each)
        for each in paths:
            self._next(each, code)
        return paths, None

    def _join(self, path: Path, code: Code, register: int) -> tuple[list[Path], Event | None]:
        wanted = self._known(path, register, "which split a join ends")
        if wanted > len(path.splits):
            raise RefusedError("a join without its split", path.pc)
        if wanted == len(path.splits):
            self._next(path, code)
            return [path], None
        split = path.splits[-1]
        if split.visited:
            path.unite(self.values)
            self._next(path, code)
            return [path], None
        path.turn(split, self.values)
        self._go(path, code, split.pc)
        return [path], None

    def _pred(
        self, path: Path, code: Code, registers: tuple[int, int], *, negate: bool
    ) -> tuple[list[Path], Event | None]:
        true, false, condition = self._predicate(path, registers[0], negate=negate)
        some = bool((path.may & ~false).any())
        none = not bool((path.must & true).any()) and bool((path.may & ~true).any())
        restored = self._leader(path, registers[1])
        kept, left = (path, self._fork(path)) if some and none else (path, path)
        paths = []
        if some:
            kept.narrow(kept.may & ~false, kept.must & true)
            if refine(kept, condition):
                self._decide(kept, condition)
                paths.append(kept)
        if none:
            left.narrow(left.may & ~true, left.must)
            if refine(left, condition.negated()):
                self._decide(left, condition.negated())
                may, must = mask_between(*restored, self.config.threads)
                if restored[0] == 0:
                    raise RefusedError("whether a warp ends depends on the inputs: its thread mask may be empty", path.pc)
                decided = dict(left.decided)
                left.restore(registers[1])
                left.widen(may, must, self.values)
                left.decided = decided
                paths.append(left)
        for each in paths:
            self._next(each, code)
        return paths, None


def _agreed(path: Path, yes: np.ndarray, no: np.ndarray) -> bool | None:
    """Whether a branch is taken, if that is known: the active lanes agree, or the program faults."""
    if (path.must & yes).any():
        return True
    if (path.must & no).any():
        return False
    if not (path.may & ~yes).any():
        return True
    if not (path.may & ~no).any():
        return False
    return None


def _with(word: tuple[int, int], offset: int, size: int, low: int, high: int) -> tuple[int, int]:
    """A word of which some bytes are written."""
    if word[0] != word[1] or low != high:
        return 0, TOP
    bits = (1 << 8 * size) - 1 << 8 * offset
    value = word[0] & ~bits | low << 8 * offset
    return value, value
