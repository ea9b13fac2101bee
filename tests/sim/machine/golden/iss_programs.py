"""Random SIMT programs without races: their result does not depend on the order in which warps execute.

Every hart has 8, 16 or 64 bytes of global and up to 32 of local memory of its own. Warps read each other's only
between two barriers.
"""

from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import REGISTERS as R

#: Computations use these; the rest is reserved as named below.
FREE = list(range(8, 16))
FP = list(range(8))
OWN, OWN_LOCAL, OTHER, COUNT = R["s2"], R["s3"], R["s4"], R["s5"]
SCRATCH, ONE = R["t0"], R["t1"]
#: One register for each nesting level: stack pointer or saved mask, loop counter, loop bound.
POINTER, COUNTER, BOUND = R["s6"], R["s9"], R["t3"]
LEVELS = 3
MAX_LOCAL_BITS = 5

BINARY = (
    asm.add, asm.sub, asm.sll, asm.slt, asm.sltu, asm.xor, asm.srl, asm.sra, asm.or_, asm.and_, asm.mul, asm.mulh,
    asm.mulhsu, asm.mulhu, asm.div, asm.divu, asm.rem, asm.remu, asm.czero_eqz, asm.czero_nez,
)  # fmt: skip
FUSED = (asm.fmadd_s, asm.fmsub_s, asm.fnmsub_s, asm.fnmadd_s)
ROUNDED = (asm.fadd_s, asm.fsub_s, asm.fmul_s, asm.fdiv_s)
FLOAT = (asm.fmin_s, asm.fmax_s, asm.fsgnj_s, asm.fsgnjn_s, asm.fsgnjx_s)
COMPARE = (asm.feq_s, asm.flt_s, asm.fle_s)
#: Static rounding modes, and the dynamic one.
MODES = (0, 1, 2, 3, 4, asm.DYN)
MEMORY = (
    (asm.lb, 1), (asm.lbu, 1), (asm.lh, 2), (asm.lhu, 2), (asm.lw, 4), (asm.sb, 1), (asm.sh, 2), (asm.sw, 4),
)  # fmt: skip
CSRS = (0xCC0, 0xCC1, 0xCC4, 0xF14, 0x001, 0x003)


class RandomProgram:
    """Builds one program from ``rng``; ``program`` holds it. Without ``floats`` it has integer instructions only."""

    def __init__(self, rng, config, blocks=12, floats=True):
        self.rng = rng
        self.floats = floats
        # A hart's own slot of global memory: small ones share lines between lanes and warps.
        self.slot_bits = rng.choice([3, 4, 6])
        self.local_bits = min(MAX_LOCAL_BITS, (config.local_bytes // config.harts).bit_length() - 1)
        self.program = asm.Program(config.memory_map.start)
        self._labels = 0
        self._prologue(config)
        for _ in range(blocks):
            if rng.random() < 0.25:
                self._exchange(config)
            else:
                self._block(0)
        self.program.add(asm.tmc(0))

    def _label(self):
        self._labels += 1
        return f"l{self._labels}"

    def _prologue(self, config):
        p, rng = self.program, self.rng
        p.li(COUNT, config.warps)
        p.la(SCRATCH, "worker")
        p.add(asm.wspawn(COUNT, SCRATCH))
        p.label("worker")
        # A mask that may differ between warps, with the highest lane always active: never empty.
        p.add(asm.csrr(SCRATCH, 0xCC1))
        p.li(ONE, rng.randrange(1, 1 << config.threads) | 1 << config.threads - 1)
        p.add(asm.xor(SCRATCH, SCRATCH, ONE) if rng.random() < 0.5 else asm.or_(SCRATCH, SCRATCH, ONE))
        p.li(ONE, 1 << config.threads - 1)
        p.add(asm.or_(SCRATCH, SCRATCH, ONE), asm.tmc(SCRATCH))
        p.li(COUNT, config.warps)
        p.add(asm.csrr(SCRATCH, 0xF14))
        p.li(OWN, config.memory_map.user)
        p.add(asm.slli(ONE, SCRATCH, self.slot_bits), asm.add(OWN, OWN, ONE))
        p.li(OWN_LOCAL, config.memory_map.local)
        p.add(asm.slli(ONE, SCRATCH, self.local_bits), asm.add(OWN_LOCAL, OWN_LOCAL, ONE))
        # The slot of the same lane in the next warp.
        p.li(ONE, config.threads)
        p.add(asm.add(SCRATCH, SCRATCH, ONE))
        p.li(ONE, config.harts)
        p.add(asm.remu(SCRATCH, SCRATCH, ONE), asm.slli(SCRATCH, SCRATCH, self.slot_bits))
        p.li(OTHER, config.memory_map.user)
        p.add(asm.add(OTHER, OTHER, SCRATCH))
        for register in FREE:
            p.li(register, rng.getrandbits(32))
            p.add(asm.csrr(SCRATCH, 0xF14), asm.mul(register, register, SCRATCH))
            if self.floats:
                p.add(asm.fmv_w_x(register - 8, register))

    def _straight(self):
        p, rng = self.program, self.rng
        rd, rs1, rs2 = rng.choice([*FREE, 0]), rng.choice(FREE), rng.choice(FREE)
        # Of twelve instructions six compute with integers, four with floats.
        kind = rng.choice("iiiiiaffmmcc" if self.floats else "iiiiiiiiammc")
        if kind == "i":
            p.add(rng.choice(BINARY)(rd, rs1, rs2))
        elif kind == "a":
            p.add(asm.addi(rd, rs1, rng.randrange(-2048, 2048)))
        elif kind == "f":
            self._float()
            self._between(rd, rs1)
        elif kind == "c":
            self._csr(rd, rs1)
        else:
            self._memory(rd, rs1)

    def _csr(self, rd, rs1):
        p, rng = self.program, self.rng
        if rng.random() < 0.6:
            p.add(asm.csrr(rd, rng.choice(CSRS)))
        elif self.floats:
            mode, flags = rng.randrange(5), rng.randrange(32)
            p.add(rng.choice([asm.csrrwi(rd, 0x002, mode), asm.csrrci(0, 0x001, flags)]))
        else:
            # Not beside floats: it may set a rounding mode that does not exist.
            p.add(asm.csrrw(rd, rng.choice([1, 2, 3]), rs1))

    def _memory(self, rd, rs1):
        """Loads and stores of the hart's own words; of the FPU's registers where there are floats."""
        rng = self.rng
        op, size = rng.choice(MEMORY)
        base, space = rng.choice([(OWN, 1 << self.slot_bits), (OWN_LOCAL, 1 << self.local_bits)])
        register = rd if op(0, 0, 0) & 0x7F == 3 else rs1
        if self.floats and size == 4 and rng.random() < 0.5:
            op, register = rng.choice([asm.flw, asm.fsw]), rng.choice(FP)
        self.program.add(op(register, rng.randrange(space // size) * size, base))

    def _float(self):
        """From floating-point registers to one."""
        p, rng = self.program, self.rng
        rd, *sources = (rng.choice(FP) for _ in range(4))
        kind, mode = rng.randrange(6), rng.choice(MODES)
        if kind < 2:
            p.add(rng.choice(ROUNDED)(rd, *sources[:2], mode))
        elif kind < 4:
            p.add(rng.choice(FUSED)(rd, *sources, mode))
        elif kind < 5:
            p.add(rng.choice(FLOAT)(rd, *sources[:2]))
        else:
            p.add(asm.fsqrt_s(rd, sources[0], mode))

    def _between(self, rd, rs1):
        """From one register file to the other; x0 may be the destination."""
        p, rng = self.program, self.rng
        one, other, mode = rng.choice(FP), rng.choice(FP), rng.choice(MODES)
        p.add(rng.choice([
            asm.fmv_x_w(rd, one), asm.fmv_w_x(one, rs1), asm.fclass_s(rd, one), rng.choice(COMPARE)(rd, one, other),
            rng.choice([asm.fcvt_w_s, asm.fcvt_wu_s])(rd, one, mode),
            rng.choice([asm.fcvt_s_w, asm.fcvt_s_wu])(one, rs1, mode),
        ]))

    def _block(self, level):
        rng = self.rng
        kind = rng.choice(["straight", "split", "loop"]) if level < LEVELS else "straight"
        if kind == "split":
            self._split(level)
        elif kind == "loop":
            self._loop(level)
        else:
            for _ in range(rng.randrange(1, 6)):
                self._straight()

    def _blocks(self, level):
        for _ in range(self.rng.randrange(1, 4)):
            self._block(level)

    def _split(self, level):
        """if / else on bit 0 of a register: both sides meet at one join."""
        p, rng = self.program, self.rng
        pointer, predicate, negate = POINTER + level, BOUND + level, rng.random() < 0.5
        other, end = self._label(), self._label()
        p.add(asm.andi(predicate, rng.choice(FREE), 1), asm.split(pointer, predicate, negate))
        p.branch(asm.beq, predicate, 0, other)
        self._blocks(level + 1)
        p.jal(0, end)
        p.label(other)
        if rng.random() < 0.7:
            self._blocks(level + 1)
        p.label(end)
        p.add(asm.join(pointer))

    def _loop(self, level):
        """A loop that each lane leaves after its own number of turns, 0 to 3."""
        p, rng = self.program, self.rng
        mask, counter, bound = POINTER + level, COUNTER + level, BOUND + level
        top, end, negate = self._label(), self._label(), rng.random() < 0.5
        p.add(asm.csrr(mask, 0xCC4), asm.andi(bound, rng.choice(FREE), 3), asm.addi(counter, 0, 0))
        p.label(top)
        p.add(asm.sltu(SCRATCH, counter, bound), asm.xori(ONE, SCRATCH, 1))
        p.add(asm.pred(ONE if negate else SCRATCH, mask, negate))
        p.branch(asm.beq, SCRATCH, 0, end)
        self._blocks(level + 1)
        p.add(asm.addi(counter, counter, 1))
        p.jal(0, top)
        p.label(end)

    def _exchange(self, config):
        """Store to the own slot, barrier, read the next warp's, barrier."""
        p, rng = self.program, self.rng
        p.add(asm.sw(rng.choice(FREE), 0, OWN))
        p.li(SCRATCH, rng.randrange(4))
        p.add(asm.bar(SCRATCH, COUNT), asm.lw(rng.choice(FREE), 0, OTHER), asm.bar(SCRATCH, COUNT))
