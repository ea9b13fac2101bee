"""Running small programs on the golden model, as one run or step by step in a random warp order."""

import random

from metronome.hdl.config import SmConfig
from metronome.sim.machine.golden import EndStatus, Iss, IssEnd
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program.assembler import asm

CONFIG = SmConfig(warps=4, threads=4)
START = CONFIG.memory_map.start
USER = CONFIG.memory_map.user
LOCAL = CONFIG.memory_map.local
MODES = ["run", "step"]


def load(program, config=CONFIG, arg=USER):
    """A machine with the program in memory, launched."""
    words = program if isinstance(program, asm.Program) else asm.Program(START)
    if words is not program:
        words.add(*program)
    memory = SparseMemory(config.memory_map)
    memory.write(START, words.assemble())
    iss = Iss(config, memory)
    iss.launch(START, arg)
    return iss


def runnable(iss):
    return [warp for warp in range(iss.config.warps) if iss.active[warp] and iss.waiting[warp] is None]


def step_all(iss, rng, limit=100_000, commits=None):
    """Step random runnable warps until nothing can; gives what a run would."""
    for executed in range(limit):
        warps = runnable(iss)
        if not warps:
            return IssEnd(EndStatus.ENDED if iss.ended else EndStatus.DEADLOCK, executed, None, iss.waits())
        commit = iss.step(rng.choice(warps))
        if commits is not None:
            commits.append(commit)
        if commit.fault is not None:
            return IssEnd(EndStatus.FAULT, executed, commit.fault)
    return IssEnd(EndStatus.LIMIT, limit)


def finish(iss, mode, rng, limit=100_000):
    """Run to the end in one of MODES."""
    return iss.run(limit) if mode == "run" else step_all(iss, rng, limit)


def execute(program, mode, config=CONFIG, before=None, limit=100_000):
    """Load and run to the end; ``before(iss)`` sets state up. Gives the machine and how it ended."""
    iss = load(program, config)
    if before is not None:
        before(iss)
    return iss, finish(iss, mode, random.Random(1), limit)


def ended(program, mode, config=CONFIG):
    """Load and run to the end that the program means; the machine."""
    iss, end = execute(program, mode, config)
    assert end.status is EndStatus.ENDED, end
    return iss


def all_lanes(*words):
    """A program of which all lanes of the warp execute the words."""
    program = asm.Program(START)
    program.add(asm.addi(5, 0, -1), asm.tmc(5), *words)
    return program


def spawned(*words, count=4):
    """A program of which so many warps execute the words."""
    program = asm.Program(START)
    program.li(6, count)
    program.la(7, "worker")
    program.add(asm.wspawn(6, 7))
    program.label("worker")
    program.add(*words)
    return program


def lanes(iss, register, warp=0):
    """A register of a warp, by lane."""
    return iss.regs[warp, register].tolist()


def state_of(iss):
    """Everything that two executions of one race-free program must agree on."""
    return {
        "regs": iss.regs.tolist(), "pc": list(iss.pc), "active": list(iss.active), "tmask": iss.tmask.tolist(),
        "fcsr": iss.fcsr.tolist(), "mscratch": iss.mscratch, "mregion": iss.mregion, "minstret": iss.minstret,
        "mcycle": iss.mcycle, "local": iss.local.data.tobytes(), "stack": iss.stack.pointer.tolist(),
        "waiting": [str(wait) for wait in iss.waiting],
    }  # fmt: skip
