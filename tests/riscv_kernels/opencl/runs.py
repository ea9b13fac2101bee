"""A kernel in OpenCL C on the golden model, for the tests."""

from pathlib import Path

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.opencl import OpenCl
from metronome.sim.machine.golden import EndStatus
from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch
from metronome.sim.program.opencl import OpenClUnit, launch_arguments
from tests.riscv_kernels.iss_runs import Run, run_launch

__all__ = ["finished", "launch_of"]


def launch_of(
    source: Path, problem: OpenCl, config: SmConfig, flags: tuple[str, ...] = (), unit: type[OpenClUnit] = OpenClUnit
) -> Launch:
    """The kernel built with ``flags``; ToolchainError and KernelError as `metronome run` has them."""
    elf = build_elf(
        [source], name=source.stem, flags=[*problem.options.split(), *flags], memory_map=config.memory_map,
        parts=unit.parts(problem.kernel), warn=lambda text: None,
    )
    image = load_elf(elf, config.memory_map)
    return Launch(
        name=source.stem, image=image, memory_map=config.memory_map, buffers=problem.buffers,
        arguments=launch_arguments(image, problem, config, source.name),
    )


def finished(launch: Launch, config: SmConfig) -> Run:
    """A run that has to end by itself, with exit code 0."""
    run = run_launch(launch, config)
    where = launch.image.source_line(run.end.fault.pc) if run.end.fault else ""
    assert run.end.status is EndStatus.ENDED, f"{launch.name}: {run.end} {where}"
    assert run.exit_code == 0, f"{launch.name}: exit code {run.exit_code}"
    return run
