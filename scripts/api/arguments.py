"""The arguments of the functions, and the runs that they describe."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from metronome.hdl.config import SmConfig
from metronome.hdl.presets import PRESETS
from metronome.sim.build import origin
from metronome.sim.machine.settings import FIELDS, as_text, values_of

from ..commands.asking import MAX_CYCLES, AskedRun, RunOptions, SubjectOptions, WatchOptions, asked_run
from ..commands.gpu import NOTE
from ..options.gpu import GpuOptions
from ..options.machine import Machine, MachineOptions
from ..options.program import ProgramOptions, long_start
from ..options.running import InputOptions, MemoryOptions
from ..options.schemes import SchemeOptions
from ..process.errors import UsageError

if TYPE_CHECKING:
    from metronome.hdl.gpu.config import GpuConfig

__all__ = ["BoundOptions", "Name", "Options", "asked_by", "text_of"]

#: A name or a path.
Name = str | os.PathLike[str]


class Options(TypedDict, total=False):
    """The further arguments of all four functions: the options of ``metronome run`` with these names.

    None stands for the default, where the type allows it.

    - ``settings``: fields of the machine by name, as in ``{"dcache_bytes": 1024, "memory_map.user": 0x20000}``, in
      place of the preset's or the file's (``--set``). Not with an ``SmConfig``.
    - ``pipeline``: ``classic`` (default) or ``fpga``. Not with an ``SmConfig``.
    - ``mode``, ``fetch``, ``prediction``: the front end, its fetch policy, and its branch prediction.
    - ``dtype``: the element type of a kernel, ``int32`` or ``float32`` (``--type``).
    - ``memory``, ``latency``, ``timing``, ``memory_clock``, ``bank_hash``: the memory model and its parameters; the
      latency is in cycles.
    - ``cflags``, ``simt``, ``soft_float``, ``hints``, ``function``: how the program is compiled. ``simt=False`` is
      ``--no-simt``; ``soft_float=True`` is ``--soft-float``; ``function`` is the kernel function of an OpenCL source
      (``--kernel``).
    - ``argument``, ``load``, ``region``: the argument block's file, files by address, and the measured region, for
      programs without a ``host.py``.
    - ``max_cycles``: the limit of a run, by default 10 000 000 cycles.
    """

    settings: Mapping[str, Any]
    pipeline: str | None
    mode: str | None
    fetch: Name | None
    prediction: str | None
    dtype: str | None
    memory: str
    latency: int | None
    timing: str | None
    memory_clock: str | None
    bank_hash: str | None
    cflags: str | None
    simt: bool
    soft_float: bool
    hints: bool
    function: str | None
    argument: Name | None
    load: Mapping[int, Name]
    region: str | None
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
    flow_facts: Name | None
    memory_bound: int | None
    observe: int
    hardware: bool
    compose: bool


def asked_by(
    program: Name, machine: Name | SmConfig, policy: Name | None, inputs: tuple[int | None, int],
    given: Mapping[str, Any], watch: WatchOptions | None = None, outputs: Sequence[tuple[str, Path]] = (),
    *, gpu: GpuOptions, of_gpu: Callable[[GpuConfig], None] | None = None,
) -> tuple[AskedRun, list[str]]:
    """Return the run that the arguments describe, and the warnings on it.

    ``inputs``: size and seed. ``gpu``: the number of SMs. ``of_gpu``: see :func:`scripts.commands.asking.asked_run`.
    """
    origin.begin(None)
    option = given.get
    named = ProgramOptions(
        kernel=text_of(program), function=option("function"), argument=text_of(option("argument")),
        load=[f"{address:#x}={text_of(file)}" for address, file in option("load", {}).items()],
        region=option("region"), cflags=option("cflags"), no_simt=not option("simt", True),
        soft_float=option("soft_float", False), hints=option("hints", False),
    )
    memory = MemoryOptions(
        memory=option("memory", "fixed"), latency=option("latency"), timing=option("timing"),
        memory_clock=option("memory_clock"), bank_hash=option("bank_hash"),
    )
    subject = SubjectOptions(
        program=named, machine=_machine_options(machine, option("settings", {}), option("pipeline")),
        memory=memory,
        scheme=SchemeOptions(
            mode=option("mode"), issue=text_of(policy), fetch=text_of(option("fetch")), prediction=option("prediction"),
        ),
        inputs=InputOptions(dtype=option("dtype"), size=inputs[0], seed=inputs[1]),
    )
    asking = RunOptions(subject=subject, json_file=None, max_cycles=option("max_cycles", MAX_CYCLES),
                        watch=watch or WatchOptions(), gpu=gpu)
    warnings: list[str] = []
    known = _machine(machine) if isinstance(machine, SmConfig) else None

    def warn(text: str) -> None:
        warnings.extend(line.removeprefix(NOTE) for line in text.splitlines())

    asked = asked_run(None, asking, outputs, machine=known, warn=warn, of_gpu=of_gpu)
    note = long_start(asked.launch, asked.config.threads)
    return asked, warnings if note is None else [*warnings, note]


def text_of(name: Name | None) -> str | None:
    """Return a name or path as the command line takes it; a Path stands for a file even if a kernel has its name."""
    if name is None or isinstance(name, str):
        return name
    text = os.fspath(name)
    return text if os.path.isabs(text) else os.path.join(".", text)


def _machine_options(machine: Name | SmConfig, settings: Mapping[str, Any], pipeline: str | None) -> MachineOptions:
    if isinstance(machine, SmConfig):
        for what, given in (("settings are", settings), ("pipeline is", pipeline)):
            if given:
                raise UsageError(f"{what} for a preset or a file: change an SmConfig with dataclasses.replace")
        return MachineOptions()
    # Any other value is refused as text.
    texts = [f"{name}={as_text(name, value) if name in FIELDS and isinstance(value, int | tuple) else value}"
             for name, value in settings.items()]
    if not isinstance(machine, str) or machine.endswith(".toml"):
        return MachineOptions(config_file=text_of(machine), settings=texts, pipeline=pipeline)
    return MachineOptions(preset=machine, settings=texts, pipeline=pipeline)


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
