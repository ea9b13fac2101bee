"""Programs that hurt: what the SMs of a GPU run beside SM 0, and what SM 0 runs itself."""

import json
from dataclasses import dataclass

from metronome.sim.program.assembler import asm
from metronome.sim.program.kernels import load_into
from metronome.sim.run.gpu import runner
from metronome.sim.run.runner import RunRequest

CORE, COUNT, SELF, OFFSET, LEFT, STEP, MASK, BASE, PLACE, VALUE = range(5, 15)
FOUND = range(20, 24)
REGION_CSR, HART_CSR, CORE_CSR = 0x7C0, 0xF14, 0xCC2
#: The lines of SM 0, of which it uses all words but the last, and those of the others.
OWN, PRIVATE = 0x0020_0000, 0x0040_0000
#: The program, where a kernel leaves room; a kernel has its usual place.
BESIDE = 0x9000_0000
LINE, LAST_WORD = 64, 60
#: Lines of code, more than an I-cache of these tests has.
CODE_LINES = 80
KINDS = ("nothing", "stores", "misses", "fetches", "gather", "own lines", "one bank group", "all")


def storm(p, name, kind, rounds, rng):
    """The loop of all warps and lanes: ``kind`` is one of KINDS but "nothing"."""
    lines = {"one bank group": 4, "own lines": 1}.get(kind, rng.choice((1, 3, 16)))
    p.li(BASE, OWN if kind == "own lines" else PRIVATE)
    p.li(STEP, LINE * lines)
    p.li(MASK, (1 << rng.choice((12, 14, 17))) - LINE)
    p.li(LEFT, rounds if kind not in ("fetches", "all") else max(1, rounds // 10))
    p.label(f"{name} again")
    if kind != "fetches":
        p.add(asm.add(OFFSET, OFFSET, STEP), asm.and_(OFFSET, OFFSET, MASK), asm.add(PLACE, BASE, OFFSET))
    if kind in ("stores", "all", "own lines", "one bank group"):
        p.add(asm.sw(SELF, LAST_WORD, PLACE))
    if kind in ("misses", "all", "own lines", "one bank group"):
        p.add(asm.lw(FOUND[0], LAST_WORD, PLACE))
    if kind == "gather":
        p.add(*(asm.lw(register, LINE * 2 * k + 4, PLACE) for k, register in enumerate(FOUND)))
        p.add(*(asm.add(VALUE, register, VALUE) for register in FOUND))
    if kind in ("fetches", "all"):
        _code(p, name, CODE_LINES)
    _again(p, f"{name} again")


def _again(p, label):
    """A branch does not reach as far as a jump."""
    p.add(asm.addi(LEFT, LEFT, -1), asm.beq(LEFT, 0, 8))
    p.jal(0, label)


def _code(p, name, lines):
    """Code of so many lines, of which each is entered."""
    for line in range(lines):
        p.label(f"{name} line {line}")
        p.jal(0, f"{name} line {line + 1}")
        p.add(*[asm.nop()] * (LINE // 4 - 1))
    p.label(f"{name} line {lines}")


def _own(p, rng):
    """SM 0: phases of loads, stores, fetches, fences and dependent arithmetic, on all words but the last of a line."""
    p.li(BASE, OWN)
    p.add(asm.csrw(REGION_CSR, _one(p)))
    for phase in range(rng.randint(3, 6)):
        p.li(STEP, 4 * rng.choice((1, 16, 48, 256)))
        p.li(MASK, (1 << rng.choice((9, 12, 14))) - LINE)
        p.li(LEFT, rng.randint(2, 9))
        p.label(f"own {phase}")
        p.add(asm.add(OFFSET, OFFSET, STEP), asm.and_(OFFSET, OFFSET, MASK), asm.add(PLACE, BASE, OFFSET))
        for _ in range(rng.randint(1, 6)):
            word, register = 4 * rng.randrange(15), rng.choice(FOUND)
            p.add(*rng.choice((
                [asm.lw(register, word, PLACE)], [asm.lw(register, word, PLACE), asm.add(VALUE, VALUE, register)],
                [asm.sw(SELF, word, PLACE)], [asm.addi(VALUE, VALUE, 1)], [asm.fence()],
            )))
        if rng.random() < 0.3:
            _code(p, f"own {phase}", rng.choice((5, 20)))
        _again(p, f"own {phase}")
    p.add(asm.csrw(REGION_CSR, 0))
    # What is fetched behind the end is the same, too.
    p.add(asm.tmc(0), *[asm.nop()] * LINE)


def _one(p):
    p.li(VALUE, 1)
    return VALUE


@dataclass(frozen=True)
class SideBySide:
    """SM 0 runs ``kernel``, or a program of the ``own`` generator; SM i the storm ``kinds[i - 1]``."""

    image: bytes
    kernel: object = None

    @property
    def entry(self):
        return BESIDE

    @property
    def argument_address(self):
        return 0x0001_0000 if self.kernel is None else self.kernel.argument_address

    def load_into(self, memory):
        if self.kernel is not None:
            load_into(self.kernel, memory)
        memory.write(BESIDE, self.image)


def side_by_side(config, rng, kinds, rounds, *, own=None, kernel=None):
    """The program for a GPU of SMs ``config``; ``own``: the generator of numbers for SM 0's own program."""
    p = asm.Program(BESIDE)
    p.add(asm.csrr(CORE, CORE_CSR))
    if kernel is not None:
        # A jump to the kernel must leave all other registers as a launch does.
        p.branch(asm.bne, CORE, 0, "others")
        p.li(CORE, kernel.entry)
        p.add(asm.jalr(0, CORE, 0))
        p.label("others")
    p.li(COUNT, config.warps)
    p.la(SELF, "all")
    p.add(asm.wspawn(COUNT, SELF))
    p.label("all")
    p.li(VALUE, -1)
    p.add(asm.tmc(VALUE), asm.csrr(CORE, CORE_CSR), asm.csrr(SELF, HART_CSR), asm.slli(OFFSET, SELF, 6))
    for number in range(len(kinds) + 1):
        p.li(VALUE, number)
        p.branch(asm.bne, CORE, VALUE, f"not {number}")
        p.jal(0, f"SM {number}")
        p.label(f"not {number}")
    for number, kind in enumerate(("own", *kinds)):
        p.label(f"SM {number}")
        if number and kind != "nothing":
            storm(p, f"SM {number}", kind, rounds, rng)
        elif number == 0 and own is not None:
            _own(p, own)
        p.add(asm.tmc(0))
    return SideBySide(p.assemble(), kernel)


def observed(gpu, programs, monkeypatch, **memory):
    """For each program what was seen of SM 0 (:mod:`.separation_tb`), and the result."""
    monkeypatch.setattr(runner, "_TESTBENCH", "tests.system.separation_tb")
    found = []
    for each in programs:
        request = RunRequest(launch=each, policy=gpu.sm.policies[0], check=True, max_cycles=5_000_000, **memory)
        result = runner.run_gpu(gpu, request)
        assert len(result.mismatches) == 1, (result.status, result.assertions, result.sm_hang)
        report = json.loads(result.mismatches[0])
        assert report.pop("ended"), (report, str(result.fault), result.sm_hang)
        found.append((report, result))
    return found
