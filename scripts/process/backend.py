"""Interface between the command line and the simulator: subcommands reach the simulator only through a backend."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from metronome.sim.program.compiler.options import AS_USUAL, Compiling

from .errors import UsageError
from .progress import Report

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig
    from metronome.hdl.gpu.config import GpuConfig
    from metronome.hdl.verilog import FlatVerilog
    from metronome.sim.build.simulator import Build
    from metronome.sim.fpga.synth import SynthResult
    from metronome.sim.predict.gpu.predictor import GpuPrediction
    from metronome.sim.predict.predictor import Prediction, Recordings, Watcher
    from metronome.sim.predict.verify import Verification
    from metronome.sim.program.kernels import KernelInfo, Launch, ReadableMemory
    from metronome.sim.run.gpu.types import GpuRunResult
    from metronome.sim.run.process import Simulation
    from metronome.sim.run.types import RunRequest, RunResult

__all__ = ["Backend", "backend_of"]


@contextmanager
def _user_errors() -> Iterator[None]:
    """Convert those errors of sim that are meant for the user to UsageError."""
    from metronome.sim.program.compiler.elf_cache import ToolchainError
    from metronome.sim.program.elf import ImageError
    from metronome.sim.program.kernels import KernelError

    try:
        yield
    except (ImageError, KernelError, ToolchainError) as error:
        raise UsageError(str(error)) from error


class Backend:
    """The functions that subcommands call; tests substitute their own. Bad input raises UsageError.

    Its imports are late, so that a wrong option is reported at once.
    """

    def kernels(self) -> tuple[Sequence[KernelInfo], Sequence[str]]:
        """Return our kernels and those in the current folder, and a line for each broken one."""
        from metronome.sim.program.kernels import listing

        return listing(Path())

    def prepare(
        self, name: str, dtype: str | None, size: int | None, seed: int, config: SmConfig,
        compiling: Compiling = AS_USUAL, warn: Report | None = None,
    ) -> Launch:
        """Prepare a kernel of ours or of a folder, with inputs from the seed; None as type or size is the kernel's own.

        ``warn`` is called with the compiler's warnings.
        """
        from metronome.sim.build.cache import cache_folder
        from metronome.sim.program.elf import ImageError
        from metronome.sim.program.kernels import KERNELS, prepare

        try:
            with _user_errors():
                launch = prepare(name, dtype, size, seed, config, compiling, warn=warn)
        except UsageError as error:
            if not isinstance(error.__cause__, ImageError) or name not in KERNELS or compiling.flags:
                raise
            # We build the kernel ourselves: an invalid ELF can only come from a corrupt cache.
            folder = cache_folder() / "kernels"
            raise UsageError(f"the build cache is damaged: delete {folder} to have it rebuilt ({error})") from None

        def check(memory: ReadableMemory) -> list[str]:
            with _user_errors():
                return launch.check(memory)

        return dataclasses.replace(launch, check=check)

    def prepare_source(
        self, path: Path, argument: Path | None, config: SmConfig, compiling: Compiling, warn: Report
    ) -> Launch:
        """Prepare a program with a single source file."""
        from metronome.sim.program.kernels import prepare_source

        with _user_errors():
            return prepare_source(path, argument, config, compiling, warn=warn)

    def build_kernel(self, name: str, dtype: str | None, compiling: Compiling, warn: Report) -> Path:
        """Build a kernel and return its ELF in the cache."""
        from metronome.sim.program.kernels import build_kernel

        with _user_errors():
            return build_kernel(name, dtype, compiling, warn=warn)

    def build_sources(self, paths: Sequence[Path], name: str, compiling: Compiling, warn: Report) -> Path:
        """Build sources with the runtime and return the ELF in the cache."""
        from metronome.sim.program.kernels import build_sources

        with _user_errors():
            return build_sources(paths, name, compiling, warn=warn)

    def prepare_elf(self, path: Path, argument: Path | None, config: SmConfig) -> Launch:
        """Prepare a program that was built elsewhere."""
        from metronome.sim.program.kernels import prepare_elf

        with _user_errors():
            return prepare_elf(path, argument, config=config)

    def prepare_binary(self, path: Path, argument: Path | None, config: SmConfig) -> Launch:
        """Prepare a raw image."""
        from metronome.sim.program.kernels import prepare_binary

        with _user_errors():
            return prepare_binary(path, argument, config=config)

    def prepare_vxbin(self, path: Path, argument: Path | None, config: SmConfig) -> Launch:
        """Prepare an image in Vortex's format."""
        from metronome.sim.program.kernels import prepare_vxbin

        with _user_errors():
            return prepare_vxbin(path, argument, config)

    def require_tools(self, configs: Iterable[SmConfig], *, waves: bool = False) -> None:
        """Check, before a program is compiled, for the tools that building these simulations needs unless cached."""
        from metronome.sim.build.simulator import BuildError, require_tools

        try:
            for config in configs:
                require_tools(config, waves=waves)
        except BuildError as error:
            raise UsageError(str(error)) from error

    @contextmanager
    def begun(self, config: SmConfig) -> Iterator[Simulation | None]:
        """Start a simulation, if it is built, for a later call of :meth:`run`, which supplies the program."""
        from metronome.sim.build.simulator import BuildError
        from metronome.sim.run.process import begin

        try:
            with begin(config) as simulation:
                yield simulation
        except BuildError as error:
            raise UsageError(str(error)) from error

    def run(
        self, config: SmConfig, request: RunRequest, progress: Report, console: Report, watcher: Watcher | None = None,
        begun: Simulation | None = None, *, by_profile: bool = True,
    ) -> RunResult:
        """Build the SM unless it is cached, and run one program on it.

        ``progress`` is called with the name of each step, ``console`` with each line that the program prints,
        ``watcher`` with every cycle. ``begun``: the simulation that :meth:`begun` has started. ``by_profile``:
        whether the simulation may be a profile-optimised one.
        """
        from metronome.sim.build.simulator import BuildError
        from metronome.sim.run.runner import run

        try:
            return run(config, request, progress=progress, on_console=lambda _, line: console(line), watcher=watcher,
                       begun=begun, by_profile=by_profile)
        except BuildError as error:
            raise UsageError(str(error)) from error

    def run_gpu(
        self, gpu: GpuConfig, request: RunRequest, progress: Report, console: Report, watchers: Any = None
    ) -> GpuRunResult:
        """Run one program on several SMs; as :meth:`run`, with ``watchers`` of :func:`sim.run.gpu.runner.run_gpu`."""
        from metronome.sim.build.simulator import BuildError
        from metronome.sim.run.gpu.runner import GpuRefusedError, run_gpu

        try:
            return run_gpu(gpu, request, on_console=lambda _, line: console(line), progress=progress, watchers=watchers,
                           lanes=True)
        except (BuildError, GpuRefusedError) as error:
            raise UsageError(str(error)) from error

    def predict_gpu(
        self, gpu: GpuConfig, request: RunRequest, progress: Report, console: Report | None,
        watchers: Sequence[Watcher] | None = None,
    ) -> GpuPrediction:
        """Compute a run on several SMs; as :meth:`predict`, with a watcher for each SM."""
        progress("load the model")
        from metronome.sim.predict.gpu.predictor import predict_gpu, prepare_gpu
        from metronome.sim.predict.model.compiled import SEVERAL_SMS, is_compiled

        if not is_compiled(SEVERAL_SMS):
            progress("compile the model (a minute, once)")
        prepare_gpu()
        progress("predict")
        try:
            return predict_gpu(
                gpu, request, on_console=console, tell=lambda cycle: progress(f"predict ({cycle} cycles)"),
                watchers=watchers)
        except ValueError as error:
            raise UsageError(str(error)) from None

    def verify_gpu(
        self, gpu: GpuConfig, request: RunRequest, progress: Report, console: Report
    ) -> tuple[GpuPrediction, Verification]:
        """Compute a run on several SMs, and compare it with the hardware; as :meth:`verify`."""
        from metronome.sim.predict.gpu.verify import GpuVerifier

        self.refuse_prediction(gpu.sm, request)
        if not gpu.sm.probe:
            raise UsageError("--verify needs the probe: leave out --set probe=false")
        measured = self.run_gpu(gpu, dataclasses.replace(request, trace=True), progress, console)
        assert measured.sm_events is not None
        verifier = GpuVerifier(gpu, measured.sm_events)
        prediction = self.predict_gpu(gpu, request, progress, None, verifier.sms)
        return prediction, verifier.verdict(measured, prediction.result)

    def build_by_profile(self, config: SmConfig, progress: Report) -> Build:
        """Build the simulation, optimised with a profile of its own, unless it is cached."""
        from metronome.sim.build.simulator import BuildError
        from metronome.sim.run.profiling import built_by_profile

        try:
            return built_by_profile(config, progress)
        except BuildError as error:
            raise UsageError(str(error)) from error

    @functools.cached_property
    def _recordings(self) -> Recordings:
        from metronome.sim.predict.predictor import Recordings

        return Recordings()

    def predict(
        self, config: SmConfig, request: RunRequest, progress: Report, console: Report | None,
        watcher: Watcher | None = None, *, again: bool = False,
    ) -> Prediction:
        """Compute a run. ``progress``, ``console`` and ``watcher`` as for :meth:`run`.

        ``again``: keep the golden model's results for a program and use them for its next runs.
        """
        progress("load the model")
        from metronome.sim.predict.model.compiled import is_compiled
        from metronome.sim.predict.predictor import predict, prepare

        if not is_compiled():
            progress("compile the model (half a minute, once)")
        prepare()
        progress("predict")

        def tell(cycle: int) -> None:
            progress(f"predict ({cycle} cycles)")

        try:
            return predict(config, request, recordings=self._recordings if again else None, on_console=console,
                           tell=tell, watcher=watcher)
        except ValueError as error:
            raise UsageError(str(error)) from None

    def refuse_prediction(self, config: SmConfig, request: RunRequest) -> None:
        """Raise UsageError if the run cannot be predicted."""
        from metronome.sim.predict.predictor import refuse

        try:
            refuse(config, request.policy, check=request.check or request.memcheck)
        except ValueError as error:
            raise UsageError(str(error)) from None

    def forecast(self, config: SmConfig, request: RunRequest, result: RunResult) -> dict[str, Any]:
        """Forecast a run from its trace and return the result as JSON data (:mod:`sim.predict.forecast`)."""
        from metronome.sim.predict.forecast import forecast_against

        assert result.events is not None
        return forecast_against(config, request, result.events, self._recordings)

    def verify(
        self, config: SmConfig, request: RunRequest, progress: Report, console: Report
    ) -> tuple[Prediction, Verification]:
        """Compute a run, repeat it on the hardware, and compare the two. The console is that of the hardware."""
        from metronome.sim.predict.verify import Verifier

        self.refuse_prediction(config, request)
        if not config.probe:
            raise UsageError("--verify needs the probe: leave out --set probe=false")
        measured = self.run(config, dataclasses.replace(request, trace=True), progress, console)
        assert measured.events is not None
        verifier = Verifier(config, measured.events)
        prediction = self.predict(config, request, progress, None, verifier)
        return prediction, verifier.verdict(measured, prediction.result)

    def verilog(self, config: SmConfig | GpuConfig) -> str:
        """Return synthesizable Verilog with packed ports."""
        from metronome.sim.build.verilog import elaborate

        return elaborate(config)

    def flat_verilog(self, config: SmConfig | GpuConfig, bus: str) -> FlatVerilog:
        """Return Verilog with one port for each field; ``bus`` is one of :data:`hdl.verilog.BUSES`."""
        from metronome.sim.build.verilog import elaborate_flat

        return elaborate_flat(config, bus)

    def synthesize(self, unit: str, config: SmConfig, seeds: Sequence[int]) -> SynthResult:
        """Return the area of one unit of the machine, and its clock rate for a placement from each seed."""
        from metronome.sim.fpga.synth import Options, SynthesisError, synthesize

        try:
            return synthesize(unit, config, [Options(seed=seed) for seed in seeds])
        except SynthesisError as error:
            raise UsageError(str(error)) from error

    def iss_speed(self) -> float:
        """Return the golden model's warp-instructions per second in one run of psort, PAPER, 1024 elements."""
        from metronome.hdl.presets import PAPER
        from metronome.sim.machine.golden import EndStatus, Iss
        from metronome.sim.machine.memory.store import SparseMemory
        from metronome.sim.program.kernels import load_into

        launch = self.prepare("psort", "int32", 1024, 1, PAPER)
        memory = SparseMemory(PAPER.memory_map)
        load_into(launch, memory)
        iss = Iss(PAPER, memory)
        iss.launch(launch.entry, launch.argument_address)
        began = time.perf_counter()
        end = iss.run(1 << 40)
        seconds = time.perf_counter() - began
        if end.status is not EndStatus.ENDED or launch.check(memory):
            raise RuntimeError(f"psort gave a wrong result on the golden model: {end}")
        return end.executed / seconds

    def loop_time(self) -> float:
        """Return the seconds of the loop that makes speeds comparable between machines."""
        from .loop import loop_time

        return loop_time()


_usual = functools.cache(Backend)


def backend_of(ctx: typer.Context | None) -> Backend:
    """Return the backend that ``main`` was given; the default one if there is none, or no command line."""
    backend: Backend = (ctx and ctx.obj) or _usual()
    return backend
