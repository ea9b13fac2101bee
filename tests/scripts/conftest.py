"""A command line whose simulator is a stand-in: it records what it is asked, and answers what the test wants."""

import contextlib
import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from metronome.hdl.config import Coordination, FaultCause, MemoryMap
from metronome.hdl.layouts.counters import COUNTERS, StallReason
from metronome.hdl.layouts.probe import LookupWait
from metronome.hdl.verilog import FlatVerilog, flat_top
from metronome.scripts.cli import main
from metronome.scripts.process.errors import UsageError
from metronome.sim.fpga import synth
from metronome.sim.fpga.synth import Route, SynthResult
from metronome.sim.machine.golden import Fault
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.machine.statistics import REASONS, LineAccesses, LoadLatency, RegionStatistics, WarpCycles
from metronome.sim.program.compiler.options import AS_USUAL
from metronome.sim.program.elf import ElfImage
from metronome.sim.program.kernels import KernelError, KernelInfo, Launch
from metronome.sim.run.gpu.types import GpuRunResult
from metronome.sim.run.types import RunResult
from tests.scripts.lines import only_line

RESULT_ADDRESS = 0x0001_1000
RESULT_BYTES = bytes(range(64))


class Image(ElfImage):
    """An image with a line table of one line."""

    def source_line(self, pc):
        return "kernel.c:12" if pc == 0x8000_0124 else None


def counters(**values):
    """Counters in which the cycles add up: 400 instructions, 40 NOPs, 50 + 10 stalls."""
    stalls = dict.fromkeys((reason.name.lower() for reason in StallReason), 0) | {"load": 50, "icache": 10}
    return {
        **{counter.name: 0 for counter in COUNTERS},
        "total_cycles": 700, "cycles": 500, "committed": 400, "committed_threads": 1500, "nops": 40,
        "icache_misses": 3, "taken_branches": 9, "loads": 20, "load_wait_cycles": 60, "stalls": stalls,
        "discrepancies": 70, "errors": 25,
    } | values


def region():
    """Statistics of the same 500 cycles: two warps, 18 loads and 2 stores of global memory."""
    waits = {reason: 0 for reason in LookupWait if reason} | {LookupWait.MSHR: 17}
    stalls = dict.fromkeys(REASONS, 0)
    return RegionStatistics(
        loads=LineAccesses(instructions=18, accesses=27, uncached=2, hits=13, merges=5, forwards=3, misses=4),
        stores=LineAccesses(instructions=2, accesses=4, uncached=0, hits=1, merges=3),
        waits=waits,
        load_latency=LoadLatency(total=123, maximum=33, histogram=(0, 0, 12, 0, 5, 1)),
        warps=tuple(
            WarpCycles(
                instructions=instructions, nops=20, not_selected=30, inactive=400 - instructions,
                stalls=stalls | {REASONS[0]: 50},
            )
            for instructions in (250, 150)
        ),
    )


class FakeBackend:
    """Answers with ``result`` and ``launch``; ``runs`` lists the (config, request) of every run."""

    def __init__(self):
        self.runs = []
        #: Whether what was recorded is used again, of each prediction; what its result has otherwise.
        self.predicted = []
        self.by_profile = []
        self.other = {}
        self.prepared = []
        self.verilog_configs = []
        self.broken = []
        self.compiling = AS_USUAL
        self.problems = []
        self.error = None
        #: The next times of the loop; half a second after them.
        self.loop_times = []
        memory = SparseMemory()
        memory.write(RESULT_ADDRESS, RESULT_BYTES)
        self.result = RunResult(
            status="ended", exit_code=0, total_cycles=700, memory=memory, counters=counters(), region=region(),
            sim_seconds=0.5, build_seconds=20.0, elaborate_seconds=4.0,
        )

    def update(self, **values):
        """Change fields of the result."""
        self.result = dataclasses.replace(self.result, **values)

    def fault(self, pc=0x8000_0124):
        """Let the machine stop at a fault."""
        self.update(status="fault", fault=Fault(FaultCause.LOAD_MISALIGNED, 2, pc, 0x1_0002))

    def _launch(self, name, **values):
        self.prepared.append((name, values))
        image = Image(
            path=Path("kernel.elf"), entry=0x8000_0000, segments=(), symbols={"table": (RESULT_ADDRESS + 16, 8)},
            functions=((0x8000_0100, 0x8000_0200, "work"),),
        )
        return Launch(
            name=name, image=image, memory_map=MemoryMap(), buffers={"target": (RESULT_ADDRESS, bytes(64))},
            check=lambda memory: self.problems, **values,
        )

    def kernels(self):
        return [KernelInfo(name="psort", about="sorts", types=("int32",), default_size=64, max_size=1024)], self.broken

    def require_tools(self, configs, *, waves=False):
        pass

    def prepare(self, name, dtype, size, seed, config, compiling=AS_USUAL, warn=None):
        if name != "psort":
            raise UsageError(str(KernelError(f"kernel must be psort, not {name!r}")))
        self.compiling = compiling
        launch = self._launch(name, dtype=dtype or "int32", size=64 if size is None else size, seed=seed)
        return dataclasses.replace(launch, compiling=compiling)

    def prepare_source(self, path, argument, config, compiling, warn):
        self.compiling = compiling
        return dataclasses.replace(self._launch(path.name), compiling=compiling)

    def prepare_elf(self, path, argument, config):
        return self._launch(path.name)

    def prepare_binary(self, path, argument, config):
        return self._launch(path.name)

    def prepare_vxbin(self, path, argument, config):
        return self._launch(f"vxbin {path.name}")

    @contextlib.contextmanager
    def begun(self, config):
        yield None

    def run(self, config, request, progress, console, watcher=None, begun=None, *, by_profile=True):
        progress("simulate")
        self.by_profile.append(by_profile)
        for line in self.result.console.splitlines(keepends=True):
            console(line)
        self.runs.append((config, request))
        if self.error is not None:
            raise self.error
        return self.result

    def refuse_prediction(self, config, request):
        if config.coordination is not Coordination.SWAS or request.check:
            raise UsageError("it cannot be predicted")

    def predict(self, config, request, progress, console, watcher=None, *, again=False):
        """A run's result, ten times as fast."""
        result = self.run(config, request, progress, console, by_profile=None)
        self.predicted.append(again)
        return SimpleNamespace(result=dataclasses.replace(result, sim_seconds=result.sim_seconds / 10, **self.other))

    def forecast(self, config, request, result):
        assert request.trace
        return {"cycles": 400, "total_cycles": 600, "same_cycle": 0.25, "same_place": 0.5, "problem": None}

    def verilog(self, config):
        self.verilog_configs.append(config)
        return "module metronome_sm;\nendmodule\n"

    def flat_verilog(self, config, bus):
        self.verilog_configs.append(config)
        return FlatVerilog(f"module metronome_sm;  // {bus}\nendmodule\n", flat_top(config, bus).ports)

    def loop_time(self):
        return self.loop_times.pop(0) if self.loop_times else 0.5

    def iss_speed(self):
        return 2e6


@dataclasses.dataclass
class Called:
    """What a call of the command line left behind."""

    status: int
    out: str
    err: str

    @property
    def refusal(self):
        """The one line that refuses, where nothing else is written."""
        assert (self.status, self.out) == (2, ""), self
        return only_line(self.err)


@pytest.fixture
def backend():
    """The stand-in that `metronome` uses."""
    return FakeBackend()


@pytest.fixture
def metronome(backend, capsys, tmp_path, monkeypatch):
    """Call the command line in an empty folder, over the stand-in; ``status`` is the one that it has to have."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments, status=None):
        done = Called(main([str(argument) for argument in arguments], backend=backend), *capsys.readouterr())
        assert status in (None, done.status), done.err
        return done

    return call


@pytest.fixture
def measured(metronome):
    """Call `metronome bench --preset TINY --json FILE` with more options: what it has measured."""
    def measured(*options, file="then.json"):
        assert metronome("bench", "--preset", "TINY", *options, "--json", file).status == 0
        return json.loads(Path(file).read_text())

    return measured


@pytest.fixture
def run(capsys):
    """`metronome run ... --preset TINY --json -`: (exit status, the JSON or None, standard error)."""

    def call(*arguments):
        status = main(["run", *map(str, arguments), "--preset", "TINY", "--json", "-"])
        out, err = capsys.readouterr()
        return status, json.loads(out) if out else None, err

    return call


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Call the command line with all that is behind it in an empty folder: (exit status, its output, its errors)."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        return main([*map(str, arguments)]), *capsys.readouterr()

    return call


@pytest.fixture
def synthesized(monkeypatch):
    """The configurations that `metronome synth` asks for."""
    seen = []

    def synthesize(unit, config, options, progress, *, cells, target):
        seen.append(config)
        return SynthResult(unit, 10, 5, 1, 2, routes=(Route(1, 250.0),))

    monkeypatch.setattr(synth, "synthesize", synthesize)
    return seen


@pytest.fixture
def gpu(backend):
    """Runs on several SMs: (GPU, request) of each; fields of the next result."""
    backend.gpus, backend.of_gpu = [], {}

    def run_gpu(config, request, progress, console, watchers=None):
        backend.gpus.append((config, request))
        backend.watchers = watchers
        fields = {field.name: getattr(backend.result, field.name) for field in dataclasses.fields(backend.result)}
        return GpuRunResult(**fields | {"region": None, "sm_counters": [counters()] * config.sms} | backend.of_gpu)

    def predict_gpu(config, request, progress, console, watchers=None):
        result = run_gpu(config, request, progress, console, watchers)
        return SimpleNamespace(result=result, issued=(), stepped=None, asked=0, reason="")

    backend.run_gpu, backend.predict_gpu = run_gpu, predict_gpu
    return backend
