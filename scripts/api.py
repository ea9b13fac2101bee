"""The functions ``run``, ``predict``, ``trace`` and ``wcet`` of the package ``metronome``.

Each does what the command of its name does, and returns the result instead of printing it. Bad input raises
:class:`UsageError`, a ValueError, with the line that the command prints. Errors in your own policy or ``host.py`` keep
their type.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from metronome.hdl.config import SmConfig
from metronome.hdl.presets import PRESETS
from metronome.sim.build import origin
from metronome.sim.machine.engines import Engine
from metronome.sim.machine.settings import FIELDS, as_text, values_of
from metronome.sim.show.trace.formats import WAVEFORMS

from .commands.asking import MAX_CYCLES, AskedRun, RunOptions, SubjectOptions, WatchOptions, asked_run
from .commands.predicting import fields_of, finishes_of, slow_policy
from .commands.result import Outcome, notes_on
from .commands.tracing import about, trace_files, traced
from .commands.waving import check_waveforms, waved
from .commands.wcet import Bounded, bounded, check_bounds
from .commands.wcet import BoundOptions as CommandBounds
from .options.machine import Machine, MachineOptions
from .options.program import ProgramOptions, long_start
from .options.running import InputOptions, MemoryOptions
from .options.schemes import SchemeOptions
from .process.backend import backend_of
from .process.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

    from metronome.sim.predict.predictor import Prediction as Predicted
    from metronome.sim.run.types import RunResult

__all__ = ["BoundOptions", "BoundResult", "Options", "Prediction", "Result", "UsageError", "predict", "run", "trace",
           "wcet"]

#: A name or a path.
Name = str | os.PathLike[str]


class Options(TypedDict, total=False):
    """The further arguments of all four functions: the options of ``metronome run`` with these names.

    - ``settings``: fields of the machine by name, as in ``{"dcache_bytes": 1024, "memory_map.user": 0x20000}``, in
      place of the preset's or the file's (``--set``). Not with an ``SmConfig``.
    - ``mode``, ``fetch``, ``prediction``: the front end, its fetch policy, and its branch prediction.
    - ``dtype``: the element type of a kernel, ``int32`` or ``float32`` (``--type``).
    - ``memory``, ``latency``, ``timing``, ``memory_clock``, ``bank_hash``: the memory model and its parameters; the
      latency is in cycles.
    - ``cflags``, ``simt``, ``function``: how the program is compiled. ``simt=False`` is ``--no-simt``; ``function`` is
      the kernel function of an OpenCL source (``--kernel``).
    - ``argument``, ``load``, ``region``: the argument block's file, files by address, and the measured region, for
      programs without a ``host.py``.
    - ``max_cycles``: the limit of a run, by default 10 000 000 cycles. ``wcet`` ignores it.
    """

    settings: Mapping[str, Any]
    mode: str
    fetch: Name
    prediction: str
    dtype: str
    memory: str
    latency: int
    timing: str
    memory_clock: str
    bank_hash: str
    cflags: str
    simt: bool
    function: str
    argument: Name
    load: Mapping[int, Name]
    region: str
    max_cycles: int


class BoundOptions(Options, total=False):
    """The further arguments of :func:`wcet`.

    - ``ranges``: the least and the greatest value of an input, by name: ``{"a": (0, 99), "arg[2]": (1, 8)}``.
    - ``flow_facts``: an FFX file with loop bounds and code that is never executed.
    - ``memory_bound``: the maximum memory latency in cycles, for ``dram`` and ``random``.
    - ``observe``: the number of predicted runs in a search for slow inputs, by default 0. ``hardware=False``: none of
      them runs on the hardware, too.
    - ``compose``: also return the bounds of all composition methods, in ``found.shown``.
    """

    ranges: Mapping[str, tuple[float, float]]
    flow_facts: Name
    memory_bound: int
    observe: int
    hardware: bool
    compose: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """A finished run. Times are in cycles.

    - ``passed``: whether the program ended by itself with a correct result, and no check complained.
    - ``status``: ``ended``, ``fault``, ``hang`` (the cycle limit), ``deadlock``, ``mismatch`` or ``assertion``.
    - ``cycles``: of the measured region; None if the program never opened it. ``total_cycles``: from launch to end.
    - ``counters``: the counters of docs/counters.md by name. ``stalls`` is a dict of its own.
    - ``complaints``: why the run did not pass, one line each. ``warnings``: the compiler's, and notes on the run.
    - ``console``: what the program printed.
    - ``outcome``: the request and all else that is known of the run (:class:`scripts.commands.result.Outcome`).
    """

    passed: bool
    status: str
    cycles: int | None
    total_cycles: int
    counters: Mapping[str, Any]
    complaints: tuple[str, ...]
    warnings: tuple[str, ...]
    console: str = dataclasses.field(repr=False)
    outcome: Outcome = dataclasses.field(repr=False)

    @classmethod
    def _of(cls, outcome: Outcome, warnings: Iterable[str], **more: Any) -> Any:
        return cls(
            passed=outcome.passed, status=str(outcome.result.status), cycles=outcome.cycles,
            total_cycles=outcome.result.total_cycles, counters=outcome.counted(),
            complaints=tuple(outcome.complaints()), warnings=(*warnings, *notes_on(outcome)),
            console=outcome.result.console, outcome=outcome, **more,
        )

    def read(self, name: str) -> bytes:
        """Return the bytes of a kernel's buffer, or of a symbol of the program, after the run.

        Raises
        ------
        KeyError
            If the program has no such name.
        """
        launch = self.outcome.launch
        address, size = {
            **launch.image.symbols, **{each: (place, len(data)) for each, (place, data) in launch.buffers.items()},
        }[name]
        return self.outcome.result.memory.read(address, size)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON of the command (docs/command-line.md), without ``origin``."""
        return self.outcome.as_json()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prediction(Result):
    """A predicted run.

    - ``issued``: a structured array with ``cycle``, ``warp`` and ``pc`` of every issue; a NOP has a ``pc`` below 0.
    - ``finishes``: the cycle of each warp's last instruction; None for a warp that never ran.
    - ``prediction``: all else that is known (:class:`sim.predict.predictor.Prediction`).
    """

    issued: np.ndarray = dataclasses.field(repr=False)
    finishes: tuple[int | None, ...]
    prediction: Predicted = dataclasses.field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """See :meth:`Result.as_json`."""
        return super().as_json() | fields_of(self.prediction, self.finishes)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BoundResult:
    """A bound on the execution time.

    - ``cycles``: no run takes more, from launch to end. ``exact``: every run takes exactly this many.
    - ``parts``: the cycles by cause. ``loops``: the most passes of each loop for each entry, by the pc of its header.
    - ``assumptions``: what the bound rests on, one line each.
    - ``observed``: the longest of the runs that ``observe`` asked for; None without them.
    - ``complaint``: how a run contradicts the bound or a flow fact; None if none does. ``warnings``: notes on it.
    - ``found``: the request and all else that is known of the bound (:class:`scripts.commands.wcet.Bounded`).
    """

    cycles: int
    exact: bool
    parts: Mapping[str, int]
    loops: Mapping[int, int]
    assumptions: tuple[str, ...]
    observed: int | None
    complaint: str | None
    warnings: tuple[str, ...]
    found: Bounded = dataclasses.field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON of ``metronome wcet`` (docs/wcet.md), without ``origin``."""
        return self.found.as_json()


def run(
    program: Name, *, machine: str | SmConfig = "BASE", policy: Name | None = None, size: int | None = None,
    seed: int = 1, check: bool = False, memcheck: bool | None = None, **options: Unpack[Options],
) -> Result:
    """Run a program on the simulated SM and check its result, as ``metronome run`` does.

    The first run of a machine builds its simulation, which takes a minute or more.

    Parameters
    ----------
    program
        The name of a kernel, a folder with ``kernel.c``, or a ``.c``, ``.cl``, ``.elf`` or ``.vxbin`` file.
    machine
        The name of a preset, a ``.toml`` file of fields, or a configuration.
    policy
        The name of a warp policy, or ``FILE.py:CLASS``; by default the machine's first policy.
    size, seed
        The problem size of a kernel, by default its own, and the seed of its inputs.
    check
        Compare every instruction with the golden model, and check every memory access unless ``memcheck=False``.
    memcheck
        Check every memory access; by default as ``check``.
    options
        See :class:`Options`.

    Raises
    ------
    UsageError
        For anything that cannot be run. A run that fails raises nothing: see ``passed`` and ``complaints``.
    """
    watch = WatchOptions(check=check, memcheck=memcheck)
    asked, warnings = _asked(program, machine, policy, (size, seed), options, watch)
    backend = backend_of(None)
    backend.require_tools([asked.config])
    return _result(asked, backend.run(asked.config, asked.request, _ignore, _ignore), warnings)


def predict(
    program: Name, *, machine: str | SmConfig = "BASE", policy: Name | None = None, size: int | None = None,
    seed: int = 1, **options: Unpack[Options],
) -> Prediction:
    """Compute a run exactly, without the hardware, as ``metronome predict`` does. Arguments and errors: :func:`run`.

    Only the front end ``swas`` can be predicted. The first call compiles the model, which takes half a minute.
    """
    asked, warnings = _asked(program, machine, policy, (size, seed), options)
    return _prediction(asked, backend_of(None).predict(asked.config, asked.request, _ignore, None), warnings)


def trace(
    program: Name, output: Name, *, machine: str | SmConfig = "BASE", policy: Name | None = None,
    size: int | None = None, seed: int = 1, engine: Literal["rtl", "predict"] = "rtl", **options: Unpack[Options],
) -> Result:
    """Run a program, and write every cycle to the file ``output``, as ``metronome trace`` does.

    The end of the file's name selects the format: ``.html``, ``.csv``, ``.parquet`` and others (docs/looking.md).
    ``engine="predict"`` computes the run instead. Other arguments, and errors: :func:`run`.
    """
    files = trace_files([os.fspath(output)], "output")
    waveforms = [file for file in files if file.kind in WAVEFORMS]
    if engine not in list(Engine):
        raise UsageError(f"engine must be rtl or predict, not {engine!r}")
    if waveforms and engine == Engine.PREDICT:
        raise UsageError("a waveform is that of the hardware: leave out engine='predict'")
    check_waveforms(waveforms, None, None)
    written = [("output", file.path) for file in files]
    asked, warnings = _asked(program, machine, policy, (size, seed), options, outputs=written)
    backend, config = backend_of(None), asked.config
    seen = [] if waveforms else files
    if seen and not config.probe:
        raise UsageError("a trace shows what the probe sees: leave out probe=False")
    if engine == Engine.PREDICT:
        with traced(seen, config, about(asked)) as watcher:
            predicted = backend.predict(config, asked.request, _ignore, None, watcher)
        return _prediction(asked, predicted, warnings)
    backend.require_tools([config], waves=bool(waveforms))
    with traced(seen, config, about(asked)) as watcher, waved(waveforms, config) as waves:
        request = dataclasses.replace(asked.request, waves=waves)
        result = backend.run(config, request, _ignore, _ignore, watcher)
    return _result(asked, result, warnings)


def wcet(
    program: Name, *, machine: str | SmConfig = "BASE", policy: Name | None = None, size: int | None = None,
    seed: int = 1, **options: Unpack[BoundOptions],
) -> BoundResult:
    """Bound the cycles of a program for all inputs, as ``metronome wcet`` does. Arguments and errors: :func:`run`.

    See :class:`BoundOptions` for the further arguments. A program without a bound raises UsageError.
    """
    given: dict[str, Any] = dict(options)
    bounds = CommandBounds(
        observe=given.pop("observe", 0), rtl=given.pop("hardware", True), compose=given.pop("compose", False),
        memory_bound=given.pop("memory_bound", None), flow_facts=_text(given.pop("flow_facts", None)),
        ranges=[f"{name}={low}..{high}" for name, (low, high) in given.pop("ranges", {}).items()],
    )
    check_bounds(bounds)
    asked, warnings = _asked(program, machine, policy, (size, seed), given)
    found = bounded(None, asked, bounds, _ignore, warnings.append)
    bound, observed = found.bound, found.observed
    return BoundResult(
        cycles=bound.cycles, exact=bound.exact, parts=bound.parts, loops=bound.loops,
        assumptions=tuple(each.text for each in bound.assumptions),
        observed=None if observed is None else observed.cycles, complaint=found.complaint(bounds.memory_bound),
        warnings=tuple(warnings), found=found,
    )


def _ignore(line: str) -> None:
    """Ignore progress reports, and what a program prints, which its result has."""


def _asked(
    program: Name, machine: str | SmConfig, policy: Name | None, inputs: tuple[int | None, int],
    given: Mapping[str, Any], watch: WatchOptions | None = None, outputs: Sequence[tuple[str, Path]] = (),
) -> tuple[AskedRun, list[str]]:
    """Return the run that the arguments describe, and the warnings on it. ``inputs``: size and seed."""
    if unknown := given.keys() - Options.__annotations__.keys():
        raise TypeError(f"unexpected keyword argument {sorted(unknown)[0]!r}: see Options")
    origin.begin(None)
    option = given.get
    named = ProgramOptions(
        kernel=_text(program), function=option("function"), argument=_text(option("argument")),
        load=[f"{address:#x}={_text(file)}" for address, file in option("load", {}).items()],
        region=option("region"), cflags=option("cflags"), no_simt=not option("simt", True),
    )
    memory = MemoryOptions(
        memory=option("memory", "fixed"), latency=option("latency"), timing=option("timing"),
        memory_clock=option("memory_clock"), bank_hash=option("bank_hash"),
    )
    subject = SubjectOptions(
        program=named, machine=_machine_options(machine, option("settings", {})), memory=memory,
        scheme=SchemeOptions(
            mode=option("mode"), issue=_text(policy), fetch=_text(option("fetch")), prediction=option("prediction"),
        ),
        inputs=InputOptions(dtype=option("dtype"), size=inputs[0], seed=inputs[1]),
    )
    asking = RunOptions(subject=subject, json_file=None, max_cycles=option("max_cycles", MAX_CYCLES),
                        watch=watch or WatchOptions())
    warnings: list[str] = []
    known = _machine(machine) if isinstance(machine, SmConfig) else None
    asked = asked_run(None, asking, outputs, machine=known, warn=lambda text: warnings.extend(text.splitlines()))
    note = long_start(asked.launch, asked.config.threads)
    return asked, warnings if note is None else [*warnings, note]


def _text(name: Name | None) -> str | None:
    """Return a name or path as the command line takes it; a Path stands for a file even if a kernel has its name."""
    if name is None or isinstance(name, str):
        return name
    text = os.fspath(name)
    return text if os.path.isabs(text) else os.path.join(".", text)


def _machine_options(machine: str | SmConfig, settings: Mapping[str, Any]) -> MachineOptions:
    if isinstance(machine, SmConfig):
        if settings:
            raise UsageError("settings are for a preset or a file: change an SmConfig with dataclasses.replace")
        return MachineOptions()
    texts = [f"{name}={value if isinstance(value, str) or name not in FIELDS else as_text(name, value)}"
             for name, value in settings.items()]
    if machine.endswith(".toml"):
        return MachineOptions(config_file=machine, settings=texts)
    return MachineOptions(preset=machine, settings=texts)


def _machine(config: SmConfig) -> Machine:
    """Return the configuration as the preset that it resembles most, with the fields that differ."""
    own = values_of(config)
    changed = {
        preset: {name: as_text(name, own[name]) for name, value in values_of(PRESETS[preset]).items()
                 if value != own[name]}
        for preset in PRESETS
    }
    preset = min(changed, key=lambda name: len(changed[name]))
    machine = Machine(preset=preset, config=config, settings=changed[preset])
    origin.note_machine(machine.title, config)
    return machine


def _result(asked: AskedRun, result: RunResult, warnings: Sequence[str]) -> Result:
    made: Result = Result._of(asked.outcome(result), warnings)
    return made


def _prediction(asked: AskedRun, predicted: Predicted, warnings: Sequence[str]) -> Prediction:
    slow = slow_policy(predicted, asked.request.policy)
    made: Prediction = Prediction._of(
        asked.outcome(predicted.result, Engine.PREDICT), [*warnings, *([] if slow is None else [slow])],
        issued=predicted.issued, finishes=tuple(finishes_of(predicted.issued, asked.config.warps)),
        prediction=predicted,
    )
    return made
