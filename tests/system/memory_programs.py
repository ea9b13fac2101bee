"""Random programs that are hard on memory: all warps load from and store to the same few lines, bytes to words.

They race on purpose. isa.md orders every access (a load sees what was issued before it, whichever warp), and lock step
executes the golden model in the order in which the SM issues: what each load has to return is known to the byte.
"""

import random
from functools import reduce
from operator import xor

from metronome.hdl.config import SmConfig
from metronome.sim.program.assembler import asm
from tests.sim.machine.golden.iss_programs import BINARY, COUNT, FP, FREE, MEMORY, ONE, SCRATCH, RandomProgram

__all__ = ["MemoryProgram", "colliding_lines"]

LINE = 64
#: Registers that hold an address for each lane, and what these are multiples of.
PLACES = {1: 1, 2: 2, 3: 4, 4: 4, 7: 4}
TABLE, PATCH, RETURN = 16, 17, 31
#: Entries of the table of addresses, by the alignment; each is one address for every hart.
ENTRIES = {1: 4, 2: 3, 4: 9}


def colliding_lines(config: SmConfig, first: int, count: int) -> list[int]:
    """``count`` line numbers from ``first`` on that share a set of the data cache; without one, adjacent lines."""
    if not config.dcache_bytes:
        return list(range(first, first + count))
    bits = (config.dcache_bytes // LINE // config.dcache_ways - 1).bit_length()

    def set_of(line: int) -> int:
        return reduce(xor, (line >> start & (1 << bits) - 1 for start in range(0, 32, bits)))

    found: list[int] = []
    line = first
    while len(found) < count:
        if set_of(line) == set_of(first):
            found.append(line)
        line += 1
    return found


class MemoryProgram(RandomProgram):
    """Mostly loads and stores, at addresses from a table of lane addresses that is made with the program.

    The lines: some that share a set of the data cache, neighbours, one of the stacks, uncached ones below user memory
    and across its border, local memory and across its border. Lanes have the same address, adjacent ones, any of a few
    lines, or a mixture of local and global memory. In between: divergence and loops on loaded values, barriers,
    fences, and code that a warp stores for itself and executes after ``fence.i``.
    """

    def __init__(self, rng: random.Random, config: SmConfig, blocks: int = 8) -> None:
        self.config = config
        first = config.memory_map.user // LINE + rng.randrange(1, 4096)
        near = colliding_lines(config, first, rng.randrange(2, 2 + 2 * config.dcache_ways))
        stack = config.memory_map.stack_top - LINE * rng.randrange(1, config.harts * 128)
        self._near = [LINE * line for line in (*near, first + 1)]
        self._far = [0xC0, 0x100, config.memory_map.user - 4, config.memory_map.local - 4, stack]
        super().__init__(rng, config, blocks=blocks)
        self._data()

    def _prologue(self, config: SmConfig) -> None:
        super()._prologue(config)
        p = self.program
        p.la(TABLE, "table")
        p.la(PATCH, "patches")
        p.li(ONE, 4 * config.threads * sum(ENTRIES.values()))
        p.add(asm.csrr(SCRATCH, 0xCC1), asm.mul(ONE, ONE, SCRATCH), asm.add(TABLE, TABLE, ONE))
        p.add(asm.slli(SCRATCH, SCRATCH, 6), asm.add(PATCH, PATCH, SCRATCH))
        p.add(asm.csrr(SCRATCH, 0xCC0), asm.slli(SCRATCH, SCRATCH, 2), asm.add(TABLE, TABLE, SCRATCH))
        for register in PLACES:
            self._place(register)

    def _place(self, register: int) -> None:
        """Load an address register; under divergence only some lanes get the new address."""
        alignment = PLACES[register]
        entry = sum(ENTRIES[size] for size in ENTRIES if size < alignment) + self.rng.randrange(ENTRIES[alignment])
        self.program.add(asm.lw(register, 4 * self.config.threads * entry, TABLE))

    def _straight(self) -> None:
        p, rng = self.program, self.rng
        rd, rs1, rs2 = rng.choice([*FREE, 0]), rng.choice(FREE), rng.choice(FREE)
        kind = rng.choices("mbipfx", (30, 4, 6, 4, 1, 1))[0]
        if kind == "m":
            self._memory(rd, rs1)
        elif kind == "b":
            # A burst: no load needs another one's register.
            for register in rng.sample(FREE, rng.randrange(3, 8)):
                self._memory(register, register)
        elif kind == "i":
            p.add(rng.choice(BINARY)(rd, rs1, rs2))
        elif kind == "p":
            self._place(rng.choice(list(PLACES)))
        elif kind == "f":
            p.add(asm.fence())
        else:
            self._patch(rd, rs1)

    def _memory(self, rd: int, rs1: int) -> None:
        rng = self.rng
        register, alignment = rng.choice(list(PLACES.items()))
        op, size = rng.choice([(op, size) for op, size in MEMORY if size <= alignment])
        data = rd if op(0, 0, 0) & 0x7F == 3 else rs1
        if size == 4 and rng.random() < 0.2:
            op, data = rng.choice([asm.flw, asm.fsw]), rng.choice(FP)
        offset = rng.randrange(rng.choice([1, 2, 4, 16, 64]))
        self.program.add(op(data, offset * size, register))

    def _patch(self, rd: int, rs1: int) -> None:
        """Store an instruction, as a word or in halves, to the warp's own line of code, and execute it."""
        p, rng = self.program, self.rng
        p.li(SCRATCH, asm.addi(rd, rs1, rng.randrange(-2048, 2048)))
        if rng.random() < 0.5:
            p.add(asm.sw(SCRATCH, 0, PATCH))
        else:
            p.add(asm.sh(SCRATCH, 0, PATCH), asm.srli(SCRATCH, SCRATCH, 16), asm.sh(SCRATCH, 2, PATCH))
        p.add(asm.fence_i(), asm.jalr(RETURN, PATCH, 0))

    def _exchange(self, config: SmConfig) -> None:
        p, rng = self.program, self.rng
        self._memory(rng.choice(FREE), rng.choice(FREE))
        p.add(*asm.li(SCRATCH, rng.randrange(4)), asm.bar(SCRATCH, COUNT))
        self._memory(rng.choice(FREE), rng.choice(FREE))

    def _data(self) -> None:
        """Behind the code: the table, [warp][entry][lane], and the warps' lines of code."""
        p, config = self.program, self.config
        patterns = [(size, self.rng.randrange(6)) for size, count in ENTRIES.items() for _ in range(count)]
        p.label("table")
        for _ in range(config.warps):
            for size, pattern in patterns:
                p.add(*(address // size * size for address in self._addresses(pattern)))
        while p.here % LINE:
            p.add(asm.nop())
        p.label("patches")
        for _ in range(config.warps):
            p.add(asm.nop(), asm.jalr(0, RETURN, 0), *[asm.nop()] * 14)

    def _addresses(self, pattern: int) -> list[int]:
        """An address for each lane."""
        rng, threads, local = self.rng, self.config.threads, self.config.memory_map.local
        start = rng.choice(self._near) + rng.choice([0, 0, 4, 56, rng.randrange(64)])
        # Words of one bank, adjacent words.
        banks = [local + 4 * threads * rng.randrange(4) + 4 * rng.randrange(2) for _ in range(threads)]
        scattered = [rng.choice(self._near[-3:]) + rng.randrange(16) for _ in range(threads)]
        match pattern:
            case 0:
                return [start] * threads
            case 1:
                return [start + 4 * lane for lane in range(threads)]
            case 2:
                return scattered
            case 3:
                return [rng.choice([*pair, rng.choice(self._near)]) for pair in zip(banks, scattered, strict=True)]
            case 4:
                return banks
            case _:
                start = rng.choice(self._far)
                return [start + rng.choice([0, 4 * lane]) for lane in range(threads)]
