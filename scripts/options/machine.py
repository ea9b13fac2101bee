"""The machine on the command line: a preset, fields of a file, ``--set``, ``--warps`` and ``--threads``."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Annotated, Any, ClassVar

import typer

from metronome.hdl.config import WATCHING, SmConfig
from metronome.hdl.presets import PIPELINES, PRESETS
from metronome.sim.build.origin import note_machine
from metronome.sim.machine.gpu_settings import GPU_FIELDS, gpu_value
from metronome.sim.machine.settings import FIELDS, ConfigError, as_text, from_toml, parse, replaced

from ..process.errors import UsageError
from .common import choose, input_file
from .one_sm import OneSmError

__all__ = [
    "DEFAULT_PRESET",
    "ChipMachineOptions",
    "ConfigOption",
    "Machine",
    "MachineOptions",
    "PipelineOption",
    "PresetOption",
    "SetOption",
    "SweepMachineOptions",
    "axes",
    "machine_of",
    "machines",
    "one_scheduler",
]

DEFAULT_PRESET = "BASE"
_CLASSIC, _CHIP = "classic", "fpga"

PresetOption = Annotated[
    str, typer.Option("--preset", metavar="NAME", help=f"Sizes: {', '.join(PRESETS)}.", show_default=True)
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="A field of the machine (`metronome config`). Repeatable."),
]
ConfigOption = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="A TOML file of fields (`metronome config --output FILE`)."),
]
PipelineOption = Annotated[
    str | None,
    typer.Option("--pipeline", metavar="NAME", help="classic (default), as in the papers; or fpga, for faster clocks."),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class MachineOptions:
    """The machine as the command line names it."""

    #: The pipeline unless --pipeline names one or --config describes the machine.
    usual_pipeline: ClassVar[str] = _CLASSIC

    preset: PresetOption = DEFAULT_PRESET
    warps: Annotated[
        int | None,
        typer.Option("--warps", metavar="N", help="Number of warps, instead of the preset's."),
    ] = None
    threads: Annotated[
        int | None, typer.Option("--threads", metavar="N", help="Threads per warp, instead of the preset's.")
    ] = None
    settings: SetOption = None
    config_file: ConfigOption = None
    pipeline: PipelineOption = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChipMachineOptions(MachineOptions):
    """The machine of a command that builds hardware."""

    usual_pipeline: ClassVar[str] = _CHIP

    pipeline: Annotated[
        str | None,
        typer.Option(
            "--pipeline", metavar="NAME",
            help="fpga (default, without --config), for faster clocks; or classic, as in the papers.",
        ),
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SweepMachineOptions(MachineOptions):
    """The machines of ``metronome sweep``."""

    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=V,..", help="One or more values of a field; several are compared. Repeatable.",
        ),
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Machine:
    """A configuration and the options that it came from."""

    preset: str
    config: SmConfig
    #: The file of --config, as given.
    file: str | None = None
    #: Field -> value of each --set and of --pipeline, as text that --set accepts.
    settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    #: The fields that the file sets.
    in_file: frozenset[str] = frozenset()
    pipeline: str = _CLASSIC
    #: The fields of a GPU (sim.machine.gpu_settings) of --set and of the file.
    gpu: Mapping[str, int | str] = dataclasses.field(default_factory=dict)
    #: The fields of --set alone, which must have an effect (scripts.options.schemes.require_effects).
    asked: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Short description: ``BASE``, ``BASE, fpga`` or ``my.toml, icache_bytes=1024``."""
        own = {name: as_text(name, value) for name, value in PIPELINES[_CHIP].items()}
        chip = self.pipeline == _CHIP or own.items() <= self.settings.items()
        changed = [f"{name}={text}" for name, text in self.settings.items() if not (chip and own.get(name) == text)]
        return ", ".join([self.file or self.preset, *[_CHIP] * chip, *changed])

    def for_chip(self, config: SmConfig, *, probe: bool = False) -> SmConfig:
        """Turn the simulation-only fields off, or on with ``probe``; fields given by --set keep their values."""
        return replaced(config, {name: probe for name in WATCHING if name not in self.settings})

    def names(self, field: str) -> bool:
        """Return whether the user has set this field, in the file or by --set."""
        return field in self.settings or field in self.in_file


def _split(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name.strip()):
        raise UsageError(f"--set {text}: write FIELD=VALUE, e.g. icache_bytes=4096 (metronome config lists the fields)")
    return name.strip(), value


def _values(text: str, several: bool) -> tuple[str, list[Any]]:
    """Return the field and value of one --set; a list of values if there may be ``several``."""
    name, value = _split(text)
    try:
        if not several:
            return name, [parse(name, value)]
        return name, list(dict.fromkeys(parse(name, each) for each in value.split(",")))
    except ConfigError as error:
        hint = ": only metronome sweep takes several values" if "," in value and not several else ""
        raise UsageError(f"--set {text}: {error}{hint}") from None


def _read(file: str | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        return from_toml(input_file("--config", file).read_text("utf-8"), also=GPU_FIELDS)
    except UnicodeDecodeError:
        raise UsageError(f"--config {file}: not TOML: it is not text in UTF-8") from None
    except ConfigError as error:
        raise UsageError(f"--config {file}: {error}") from None


def _source(message: str, file: str | None, in_file: Mapping[str, Any], settings: Mapping[str, str]) -> str:
    """Return the origin of the field that an error message starts with."""
    field = message.split(" ")[0]
    if field in settings:
        return f"--set {field}={settings[field]}"
    return f"--config {file}" if field in in_file else "configuration"


def _pipeline(options: MachineOptions, in_file: Mapping[str, Any]) -> str:
    """Return the pipeline's name. A file describes its machine, so only --pipeline adds one to it.

    Raises
    ------
    UsageError
        For an unknown name, and for --pipeline with a file that sets a field of it to another value.
    """
    if options.pipeline is None:
        return options.usual_pipeline if options.config_file is None else _CLASSIC
    name = choose("--pipeline", options.pipeline, PIPELINES)
    for field, value in PIPELINES[name].items():
        if in_file.get(field, value) != value:
            raise UsageError(f"--pipeline {name} sets {field}={value}, and --config {options.config_file} "
                             f"{field}={in_file[field]}: leave out --pipeline, or the field in the file")
    return name


def _gpu_fields(
    in_file: dict[str, Any], file: str | None, settings: Sequence[str], of_gpu: bool,
) -> dict[str, int | str]:
    """Remove the fields of a GPU from those of the file, and return them and those of ``settings``."""
    given = [(f"--config {file}", name, in_file.pop(name), False) for name in GPU_FIELDS if name in in_file]
    set_here = [(f"--set {text}", *_split(text), True) for text in settings]
    if len({name for _, name, *_ in set_here}) < len(set_here):
        raise UsageError("--set: a field is set twice: name each once")
    given += set_here
    values: dict[str, int | str] = {}
    for source, name, value, is_text in given:
        try:
            values[name] = gpu_value(name, value, as_text=is_text)
        except ConfigError as error:
            if not of_gpu and is_text and "," in value:
                raise OneSmError(f"{name}={value}") from None
            raise UsageError(f"{source}: {error}") from None
    return values


def _refuse_gpu(values: Mapping[str, int | str], of_file: Collection[str]) -> None:
    """Raise OneSmError for several SMs, which most commands do not know; a file for one SM may have any field."""
    if values.get("sms", 1) != 1:
        raise OneSmError(f"sms={values['sms']}")
    for name in sorted(values.keys() - {"sms"} - set(of_file)):
        raise OneSmError(name)


def _refuse_numbering(in_file: Mapping[str, Any], file: str | None, settings: Sequence[str]) -> None:
    """Raise UsageError for the fields of an SM that follow from the GPU, unless they have their defaults."""
    usual = {name: FIELDS[name].default for name in ("cores", "core_id")}
    given = [(f"--config {file}", name, in_file[name]) for name in usual if name in in_file]
    given += [(f"--set {text}", *_values(text, False)) for text in settings if _split(text)[0] in usual]
    for source, name, value in given:
        if value not in (usual[name], [usual[name]]):
            raise UsageError(f"{source}: a GPU numbers and counts its SMs itself: leave out {name}")


def machines(
    options: MachineOptions, *, several: bool = True, of_gpu: bool = False, sms: int | None = None,
) -> Iterator[Machine]:
    """Yield every machine that the options describe: one for each combination of the values of ``--set``.

    ``of_gpu``: the machine may be the SM of a GPU of several. ``sms``: their number if an option gives it.

    Raises
    ------
    UsageError
        For an unknown preset or field, an unreadable file, or a value that SmConfig refuses.
    """
    preset, file = choose("--preset", options.preset, PRESETS), options.config_file
    in_file = _read(file)
    pipeline = _pipeline(options, in_file)
    settings = {text: _split(text)[0] in GPU_FIELDS for text in options.settings or ()}
    set_here = [text for text, of in settings.items() if of]
    of_file = in_file.keys() & set(GPU_FIELDS) - {_split(text)[0] for text in set_here}
    gpu = _gpu_fields(in_file, file, set_here, of_gpu)
    if not of_gpu:
        _refuse_gpu(gpu, of_file)
    lists = [_values(text, several) for text in options.settings or () if not settings[text]]
    if (gpu.get("sms", 1) if sms is None else sms) != 1:
        _refuse_numbering(in_file, file, [text for text, of in settings.items() if not of])
    if len({name for name, _ in lists}) < len(lists):
        raise UsageError("--set: a field is set twice: name each once")
    sizes = {"warps": options.warps, "threads": options.threads}
    sizes = {name: value for name, value in sizes.items() if value is not None}
    for combination in product(*(values for _, values in lists)):
        values: dict[str, Any] = dict(PIPELINES[pipeline])
        values |= {name: value for (name, _), value in zip(lists, combination, strict=True)}
        texts = {name: as_text(name, value) for name, value in values.items()}
        try:
            config = replaced(PRESETS[preset], {**in_file, **values, **sizes})
        except ConfigError as error:
            raise UsageError(f"{_source(str(error), file, in_file, texts)}: {error}") from None
        made = Machine(preset=preset, config=config, file=file, settings=texts, in_file=frozenset([*in_file, *of_file]),
                       pipeline=pipeline, gpu=gpu, asked=tuple(name for name, _ in lists))
        note_machine(made.title, config)
        yield made


def machine_of(options: MachineOptions, *, of_gpu: bool = False, sms: int | None = None) -> Machine:
    """Return the only machine; see :func:`machines`."""
    (only,) = machines(options, several=False, of_gpu=of_gpu, sms=sms)
    return only


def one_scheduler(config: SmConfig, what: str) -> None:
    """Raise UsageError for a machine with several schedulers, which ``what`` does not know."""
    if config.schedulers > 1:
        raise UsageError(f"schedulers={config.schedulers}: {what} knows only machines with one scheduler: leave it out")


def axes(settings: Sequence[str] | None) -> list[str]:
    """Return the fields for which ``--set`` gives more than one value."""
    lists = (_values(text, True) for text in settings or () if _split(text)[0] not in GPU_FIELDS)
    return [name for name, values in lists if len(values) > 1]
