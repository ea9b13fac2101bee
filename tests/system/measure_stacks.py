"""What interleaved stacks are worth: vecadd with 1024 elements on PAPER, whose threads use their stacks.

``python -m tests.system.measure_stacks`` prints the table of docs/memory.md. It builds PAPER twice, which takes some
minutes the first time.
"""

from dataclasses import dataclass, replace

from metronome.hdl.presets import PAPER
from metronome.riscv_kernels.vecadd import host
from metronome.sim.build.sources import ROOT
from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.program.compiler.elf_cache import Parts, build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch
from metronome.sim.run.runner import RunRequest, RunResult, run_many

SIZE, SEED = 1024, 1
PLAIN = replace(PAPER, interleave_stacks=False)
MEMORIES = ("fixed", "dram")
#: What vecadd is compiled from, and how.
PROGRAMS = {
    "registers saved, array and indices": (
        "tests/riscv_kernels/programs/vecadd_stack.c", ("-DCONTEXT", "-DCALLBACK")
    ),
    "array and indices": ("tests/riscv_kernels/programs/vecadd_stack.c", ("-DCONTEXT",)),
    "array": ("tests/riscv_kernels/programs/vecadd_stack.c", ()),
    "the kernel, compiled with -O0": ("riscv_kernels/vecadd/kernel.c", ("-O0",)),
    "the kernel, no stacks but main's": ("riscv_kernels/vecadd/kernel.c", ()),
}


@dataclass(frozen=True)
class Measure:
    """Cycles of the measured region and of the whole run, with stacks interleaved and without."""

    program: str
    memory: str
    interleaved: tuple[int, int]
    plain: tuple[int, int]

    @property
    def ratios(self) -> tuple[float, float]:
        """Of the region and of the whole run: how many times as long it takes without."""
        region, whole = (off / on for on, off in zip(self.interleaved, self.plain, strict=True))
        return region, whole


def launch_of(program: str) -> Launch:
    """The program and its inputs."""
    source, flags = PROGRAMS[program]
    problem = host.make("int32", SIZE, SEED, PAPER)
    elf = build_elf(
        [ROOT / source], name="vecadd", flags=flags, simt=False,
        parts=Parts(defines={"TYPE": "int32_t", "TYPE_IS_FLOAT": 0}),
    )
    return Launch(
        name=program, image=load_elf(elf, PAPER.memory_map), memory_map=PAPER.memory_map, arguments=problem.arguments,
        buffers=problem.buffers, check=lambda memory: problem.check(memory.read),
    )


def _cycles(launch: Launch, result: RunResult) -> tuple[int, int]:
    """Region and total; AssertionError for a run that went wrong."""
    wrong = result.mismatches or result.assertions or launch.check(result.memory)
    assert result.status == "ended" and result.exit_code == 0 and not wrong, f"{launch.name}: {result.status}, {wrong}"
    return result.counters["cycles"], result.total_cycles


def measure(programs: tuple[str, ...] = tuple(PROGRAMS), memories: tuple[str, ...] = MEMORIES) -> list[Measure]:
    """Run every program with every memory on both machines."""
    cases = [(launch_of(program), memory) for program in programs for memory in memories]
    requests = [RunRequest(launch=launch, policy="lrr", memory=memory) for launch, memory in cases]
    both = zip(cases, run_many(PAPER, requests), run_many(PLAIN, requests), strict=True)
    return [
        Measure(launch.name, memory, _cycles(launch, on), _cycles(launch, off)) for (launch, memory), on, off in both
    ]


def rows_of_dram() -> list[str]:
    """A line for each of some policies and bank hashes: the cycles of the first program's region, its row conflicts."""
    cases = [("lrr", "none"), ("lrr", "xor"), ("gtlrr", "xor")]
    launch = launch_of(next(iter(PROGRAMS)))
    results = run_many(PAPER, [
        RunRequest(launch=launch, policy=policy, memory="dram", memory_options=MemoryOptions(bank_hash=bank_hash))
        for policy, bank_hash in cases
    ])
    lines = []
    for (policy, bank_hash), result in zip(cases, results, strict=True):
        cycles, _ = _cycles(launch, result)
        statistics = result.memory_statistics
        assert statistics is not None
        conflicts, opened = statistics["row_conflicts"], statistics["row_closed"]
        accesses = statistics["reads"] + statistics["writes"]
        lines.append(
            f"{policy}, bank hash {bank_hash}: {cycles} cycles, {accesses} accesses, {conflicts} row conflicts, "
            f"{conflicts + opened} activations"
        )
    return lines


def main() -> None:
    """Print the table, and where the time goes in dram."""
    print("| program | memory | region: interleaved | without | times | whole run: interleaved | without | times |")
    print("|---|---|---|---|---|---|---|---|")
    for found in measure():
        columns = [
            f"{on} | {off} | {ratio:.1f}"
            for on, off, ratio in zip(found.interleaved, found.plain, found.ratios, strict=True)
        ]
        print(f"| {found.program} | `{found.memory}` | {' | '.join(columns)} |")
    print(*rows_of_dram(), sep="\n")


if __name__ == "__main__":
    main()
