"""Random programs of calls, loops, branches and indirect jumps: what predictors of branches learn from.

The lanes of a warp agree; warps take different paths. Every hart stores what it has computed.
"""

from metronome.sim.program.assembler import asm
from metronome.sim.program.assembler.asm import REGISTERS as R

#: The warp's random number, from which all its decisions come; its product; a bit or two of it.
STATE, FACTOR, CHOICE = R["a0"], R["a1"], R["a2"]
POINTER, ONE, COUNT = R["t1"], R["t2"], R["s11"]
#: Of each level: where it returns to, and the counters of its loops, one inside the other.
RETURNS = (None, R["s0"], R["s1"], R["ra"])
COUNTERS = ((R["s2"], R["s3"]), (R["s4"], R["s5"]), (R["s6"], R["s7"]), (R["s8"], R["s9"]))
LINKS = (R["ra"], R["t0"], R["t3"])
FUNCTIONS = 3


class JumpProgram:
    """Builds one program from ``rng``; ``program`` holds it. ``blocks``: pieces of the main function."""

    def __init__(self, rng, config, blocks=8):
        self.rng = rng
        self.program = p = asm.Program(config.memory_map.start)
        self._labels = 0
        p.li(COUNT, config.warps)
        p.la(POINTER, "worker")
        p.add(asm.wspawn(COUNT, POINTER))
        p.label("worker")
        p.li(ONE, (1 << config.threads) - 1)
        p.add(asm.tmc(ONE), asm.csrr(STATE, 0xCC1))
        p.li(FACTOR, rng.getrandbits(31) | 5)
        p.add(asm.addi(STATE, STATE, rng.randrange(1, 99)))
        # Functions are not inside others; a call of one further on has a long way.
        self._blocks(0, blocks, loops=2)
        p.add(asm.csrr(POINTER, 0xF14), asm.slli(POINTER, POINTER, 2))
        p.li(ONE, config.memory_map.user)
        p.add(asm.add(POINTER, POINTER, ONE), asm.sw(STATE, 0, POINTER), asm.tmc(0))
        for level in range(1, len(RETURNS)):
            for number in range(FUNCTIONS):
                self._function(level, number)

    def _label(self):
        self._labels += 1
        return f"l{self._labels}"

    def _hinted(self, branch):
        """The branch, some with a hint."""
        return asm.hinted(branch) if self.rng.random() < 0.3 else branch

    def _draw(self, bits):
        """Draw the next random number, and ``bits`` bits of it into CHOICE."""
        self.program.add(asm.mul(STATE, STATE, FACTOR), asm.addi(STATE, STATE, 77), asm.srli(CHOICE, STATE, 32 - bits))

    def _function(self, level, number):
        p, rng = self.program, self.rng
        p.label(f"f{level}_{number}")
        # The caller says which register has the return address: it moves it to the usual one.
        saved = RETURNS[level]
        if saved != R["ra"]:
            p.add(asm.addi(saved, R["ra"], 0))
        self._blocks(level, rng.randrange(1, 4), loops=rng.randrange(3))
        if saved != R["ra"] and rng.random() < 0.7:
            p.add(asm.addi(R["ra"], saved, 0))
            saved = R["ra"]
        p.add(asm.jalr(0, saved, 0))

    def _blocks(self, level, count, loops):
        for _ in range(count):
            kinds = ["work", "if", "call", "switch", "loop" if loops else "if"]
            if level + 1 == len(RETURNS):
                kinds.remove("call")
            getattr(self, f"_{self.rng.choice(kinds)}")(level, loops)

    def _work(self, level, loops):
        p, rng = self.program, self.rng
        for _ in range(rng.randrange(1, 6)):
            p.add(rng.choice([asm.addi(STATE, STATE, rng.randrange(1, 2048)), asm.xori(STATE, STATE, 1365),
                              asm.mul(STATE, STATE, FACTOR)]))

    def _if(self, level, loops):
        p, rng = self.program, self.rng
        self._draw(rng.randrange(1, 4))
        end = self._label()
        p.branch(self._hinted(rng.choice([asm.beq, asm.bne])), CHOICE, 0, end)
        self._work(level, loops)
        p.label(end)

    def _loop(self, level, loops):
        """A loop of a fixed number of turns, or of one that the warp draws."""
        p, rng = self.program, self.rng
        counter, top = COUNTERS[level][loops - 1], self._label()
        if rng.random() < 0.6:
            p.li(counter, rng.choice([1, 2, 2, 3, 4, 7, 64, 70] if loops == 1 and level == 0 else [1, 2, 3, 4]))
        else:
            self._draw(rng.randrange(1, 3))
            p.add(asm.addi(counter, CHOICE, 1))
        p.label(top)
        if loops == 1 and rng.random() < 0.5:
            self._work(level, 0)
        else:
            self._blocks(level, rng.randrange(1, 3), loops - 1)
        p.add(asm.addi(counter, counter, -1))
        p.branch(self._hinted(asm.bne), counter, 0, top)

    def _call(self, level, loops):
        """A call, direct or by a register; some with an unusual link register, which no convention knows."""
        p, rng = self.program, self.rng
        name = f"f{level + 1}_{rng.randrange(FUNCTIONS)}"
        kind = rng.randrange(4)
        if kind < 2:
            p.jal(R["ra"], name)
        elif kind == 2:
            register = rng.choice([POINTER, R["t0"], R["ra"]])
            p.la(register, name)
            p.add(asm.jalr(R["ra"], register, 0))
        else:
            link, back = rng.choice(LINKS), self._label()
            p.la(R["ra"], back)
            p.la(POINTER, name)
            p.add(asm.jalr(link if link != R["ra"] else 0, POINTER, 0))
            p.label(back)

    def _switch(self, level, loops):
        p, rng = self.program, self.rng
        bits = rng.randrange(1, 3)
        table, end = self._label(), self._label()
        self._draw(bits)
        p.la(POINTER, table)
        p.add(asm.slli(CHOICE, CHOICE, 3), asm.add(POINTER, POINTER, CHOICE), asm.jalr(0, POINTER, 0))
        p.label(table)
        for _ in range(1 << bits):
            p.add(asm.addi(STATE, STATE, rng.randrange(1, 2048)))
            p.jal(0, end)
        p.label(end)
