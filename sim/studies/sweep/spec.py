"""The description of a sweep: a TOML file of axes, or a named one that comes with the project (docs/experiments.md).

A key is an axis: the name of an option of ``metronome run``, or a field of ``SmConfig``. Its value is one value for all
runs, or a list; a table gives each kernel its own values. A ``[[block]]`` is a set of runs: every combination of
the axes of the block and of those above all blocks. A file without blocks is one block.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from metronome.hdl.config import Coordination, SmConfig
from metronome.hdl.presets import PRESETS
from metronome.riscv_kernels.host import require_size

from ...machine.engines import Engine
from ...machine.limits import MAX_CYCLES, MAX_SEED
from ...machine.memory.names import MEMORY_MODELS
from ...machine.memory.options import memory_latency, memory_options
from ...machine.policies.files import is_file, loaded
from ...machine.schemes import Scheme, check_scheme, coordinate
from ...machine.settings import FIELDS, ConfigError, as_text, from_toml, near, one_of, replaced, values_of
from ...machine.user_paths import user_path
from ...program.compiler.options import Compiling, split_flags
from ...program.host import Host
from ...program.kernel_folders import KERNELS, host_of
from .record import Run

__all__ = ["NAMED", "Spec", "SpecError", "expand", "find_spec", "named_specs"]

_NAMED = Path(__file__).with_name("named")
#: The experiments that come with the project.
NAMED = ("paper", "pta", "guarantee", "rates", "reorder")

#: Axes of a run, with the type of their values. The others are fields of SmConfig.
_AXES: Mapping[str, type] = {
    "kernel": str, "function": str, "type": str, "size": int, "seed": int, "cflags": str, "no_simt": bool,
    "soft_float": bool, "hints": bool,
    "preset": str, "config": str, "mode": str, "fetch": str, "issue": str, "prediction": str,
    "memory": str, "latency": int, "timing": str, "memory_clock": str, "bank_hash": str,
    "max_cycles": int, "check": bool, "memcheck": bool, "engine": str,
    "forecast": bool, "progress": bool,
}
#: The front end's own axes, which replace these fields.
_INSTEAD = {"coordination": "mode", "policies": "issue", "fetch_policies": "fetch"}
_TEXTS = ("title", "about")
_MOST_RUNS = 100_000


class SpecError(ValueError):
    """The description of an experiment is invalid; the text is one line."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spec:
    """An experiment: its name, its description, its text, and its runs in order."""

    name: str
    title: str
    about: str
    text: str
    runs: tuple[Run, ...]
    #: The file name as the user gave it; empty if there is none.
    file: str = ""


def named_specs() -> dict[str, str]:
    """Return name -> description of the experiments that come with the project."""
    return {name: str(_document((_NAMED / f"{name}.toml").read_text("utf-8"), name)["about"]) for name in NAMED}


def find_spec(name: str) -> Spec:
    """Return the experiment with this name or file.

    Raises
    ------
    SpecError
        If there is none, or it is invalid.
    """
    if name in NAMED:
        path = _NAMED / f"{name}.toml"
        return expand(path.read_text("utf-8"), name, name, path.parent)
    path = user_path(name)
    try:
        text = path.read_text("utf-8-sig")  # Windows editors begin a file with a byte order mark
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", "it is not text in UTF-8")
        hint = near(name, NAMED) or f": use {', '.join(NAMED)}, or the path of a .toml file"
        raise SpecError(f"{name}: cannot read the experiment: {reason}{hint}") from None
    return expand(text, path.stem, name, path.parent)


def _document(text: str, what: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{what}: not TOML: {error}") from None
    except RecursionError:
        raise SpecError(f"{what}: not TOML: too many nested brackets") from None


def expand(text: str, name: str, what: str, folder: Path) -> Spec:
    """Return the experiment that ``text`` describes; errors begin with ``what``, paths are relative to ``folder``."""
    document = _document(text, what)
    for key in _TEXTS:
        if not isinstance(document.get(key, ""), str):
            raise SpecError(f"{what}: {key} must be a text, not {document[key]!r}")
    blocks = document.pop("block", [{}])
    if not (isinstance(blocks, list) and blocks and all(isinstance(each, dict) for each in blocks)):
        raise SpecError(f"{what}: write a block as [[block]], with its axes below it")
    common = {key: value for key, value in document.items() if key not in _TEXTS}
    runs: dict[Any, Run] = {}
    for number, block in enumerate(blocks, 1):
        place = what if len(blocks) == 1 else f"{what}, block {number}"
        try:
            for run in _block({**common, **block}, folder):
                runs.setdefault(_identity(run), run)
        except (ConfigError, ValueError) as error:
            raise SpecError(f"{place}: {error}") from None
    return Spec(
        name=name, title=document.get("title", name), about=document.get("about", ""), text=text,
        runs=tuple(_share_builds(list(runs.values()))), file=what,
    )


def _identity(run: Run) -> Any:
    """The values by which two runs are the same."""
    return repr(dataclasses.replace(run, settings=dict(sorted(run.settings.items()))))


def _check_name(name: str) -> None:
    if name in _INSTEAD:
        raise ConfigError(f"{name} is set by the axis {_INSTEAD[name]}")
    if name not in _AXES and name not in FIELDS:
        raise ConfigError(f"unknown axis {name!r}{near(name, [*_AXES, *FIELDS])}: an axis is an option of "
                          "metronome run (kernel, size, mode ...) or a field (metronome config lists them)")


def _flat(axes: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the table memory_map by fields with full names."""
    table = axes.get("memory_map")
    if not isinstance(table, dict):
        return dict(axes)
    return {key: value for key, value in axes.items() if key != "memory_map"} | {
        f"memory_map.{key}": value for key, value in table.items()
    }


def _values(name: str, given: Any) -> list[Any]:
    """Return the values of an axis. A field whose value is a list (of names) is not an axis: see :data:`_INSTEAD`."""
    values = given if isinstance(given, list) else [given]
    if not values:
        raise ConfigError(f"{name} has no values: " + ("name one" if name == "kernel" else "leave it out, or give one"))
    kind = _AXES.get(name.partition(".")[0])
    for value in values:
        if kind is None and isinstance(value, list | dict):
            raise ConfigError(f"{name} must be one value or a list of values, not {given!r}")
        if kind is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            kinds = {str: "a text", int: "a whole number", bool: "true or false"}
            raise ConfigError(f"{name} must be {kinds[kind]}, not {value!r}")
    return list(dict.fromkeys(values))


def _per_kernel(name: str, given: Any, kernel: str, kernels: Sequence[str]) -> list[Any] | None:
    """Return the values of an axis for one kernel; None if a table omits the kernel."""
    if not isinstance(given, dict):
        return _values(name, given)
    for each in given:
        if each not in kernels:
            raise ConfigError(f"{name}.{each}: unknown kernel{near(each, kernels)}: {', '.join(kernels)}")
    return _values(f"{name}.{kernel}", given[kernel]) if kernel in given else None


def _block(given: Mapping[str, Any], folder: Path) -> Iterator[Run]:
    """The runs of one block, in the order of its axes; the last axis varies fastest."""
    axes = _flat(given)
    for name in axes:
        _check_name(name)
    if "kernel" not in axes:
        raise ConfigError('no kernel is named: write kernel = "psort", or a list of them')
    kernels = _values("kernel", axes.pop("kernel"))
    for given_name in kernels:
        place, host = _kernel(given_name, folder)
        own: dict[str, list[Any]] = {}
        for name, value in axes.items():
            values = _per_kernel(name, value, given_name, kernels)
            if values is not None:
                own[name] = values
        count = 1
        for values in own.values():
            count *= len(values)
        if count > _MOST_RUNS:
            raise ConfigError(f"{count} runs of {given_name} are more than {_MOST_RUNS}: split the experiment")
        for combination in product(*own.values()):
            values_now = dict(zip(own, combination, strict=True))
            yield dataclasses.replace(_run(given_name, host, values_now, own, folder), place=place)


def _kernel(name: str, folder: Path) -> tuple[str, Host]:
    """Return the kernel's name, or its path relative to the command's working folder, and its host code."""
    if name not in KERNELS and (folder / name).exists():
        name = str(folder / name)
    return name, host_of(name)


def _run(kernel: str, host: Host, values: Mapping[str, Any], axes: Mapping[str, Sequence[Any]], folder: Path) -> Run:
    """Return the run for one combination. swas has no fetch policy: its run is the same for all fetch policies."""
    preset = one_of("preset", values.get("preset", "BASE"), PRESETS)
    file = values.get("config")
    fields = {name: value for name, value in values.items() if name not in _AXES}
    config = replaced(PRESETS[preset], {**_read(file, folder), **fields})
    fetch = values.get("fetch")
    mode = values.get("mode")
    if fetch is not None and mode == Coordination.SWAS and len(axes.get("mode", ())) > 1:
        fetch = None
    scheme = check_scheme(
        config, mode=mode, fetch=_beside(fetch, folder), issue=_beside(values.get("issue"), folder),
        prediction=values.get("prediction"),
    )
    memory = one_of("memory", values.get("memory", "fixed"), MEMORY_MODELS)
    dtype = values.get("type", host.types[0])
    if dtype not in host.types:
        raise ConfigError(f"type of {kernel} must be one of {', '.join(host.types)}, not {dtype!r}")
    size = values.get("size", host.default_size)
    require_size(kernel, size, host.max_size)
    for name, least, most in (("seed", 0, MAX_SEED), ("max_cycles", 1, MAX_CYCLES)):
        if not least <= values.get(name, least) <= most:
            limit = f"at least {least}" if values[name] < least else f"at most {most}"
            raise ConfigError(f"{name} must be {limit}, not {values[name]}")
    config = coordinate(config, scheme)
    check = values.get("check", False)
    memcheck = values.get("memcheck", False)
    engine, forecast = one_of("engine", values.get("engine", Engine.RTL), list(Engine)), values.get("forecast", False)
    if (check or memcheck or forecast) and not config.probe:
        raise ConfigError("check, memcheck and forecast need the probe: leave out probe = false")
    if forecast and engine != Engine.RTL:
        raise ConfigError("forecast needs a run on the hardware: leave out engine")
    if values.get("progress", False) and engine != Engine.PREDICT:
        raise ConfigError('progress needs a prediction: write engine = "predict"')
    return Run(
        kernel=kernel, config=config, issue=scheme.issue, fetch=scheme.fetch, dtype=dtype, size=size,
        seed=values.get("seed", 1), preset=preset, file=file,
        settings={name: as_text(name, values_of(config)[name]) for name in fields},
        memory=memory, latency=memory_latency(memory, values.get("latency")),
        memory_options=memory_options(
            memory, timing=values.get("timing"), memory_clock=values.get("memory_clock"),
            bank_hash=values.get("bank_hash"),
        ),
        max_cycles=values.get("max_cycles", 10_000_000), check=check, memcheck=memcheck,
        engine=Engine(engine), forecast=forecast, progress=values.get("progress", False),
        compiling=Compiling(
            _flags(values.get("cflags", "")), values.get("function"), not values.get("no_simt", False),
            values.get("soft_float", False), values.get("hints", False),
        ),
    )


def _beside(policy: str | None, folder: Path) -> str | None:
    """Convert a policy file's path from relative to the experiment's folder to relative to the working folder."""
    if policy is None or not is_file(policy):
        return policy
    return str(folder / user_path(policy))


def _flags(text: str) -> tuple[str, ...]:
    try:
        return split_flags(text)
    except ValueError as error:
        raise ConfigError(f'cflags "{text}": {error}') from None


def _read(file: str | None, folder: Path) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        return from_toml((folder / file).read_text("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"config {file}: cannot read it: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"config {file}: cannot read it: it is not text in UTF-8") from None
    except ValueError as error:
        raise ConfigError(f"config {file}: {error}") from None


def _share_builds(runs: Sequence[Run]) -> Iterator[Run]:
    """Return the runs with one build for those that differ only in policies."""
    groups: dict[Any, list[Run]] = {}
    for run in runs:
        groups.setdefault(_machine(run), []).append(run)
    # Each distinct scheme once: a thousand seeds give one.
    schemes = {machine: list(dict.fromkeys(map(_scheme, alike))) for machine, alike in groups.items()}
    configs: dict[Any, SmConfig] = {}
    for run in runs:
        what = run.config, run.preset, run.fetch, run.issue, run.engine
        if what not in configs:
            usual = dataclasses.replace(
                run.config, coordination=Coordination.SWAS, policies=PRESETS[run.preset].policies, fetch_policies=()
            )
            configs[what] = coordinate(usual, _scheme(run), schemes[_machine(run)])
        config = configs[what]
        files = loaded((*config.policies, *config.fetch_policies))
        yield dataclasses.replace(
            run, config=config, policy_files={name: file.text for name, file in files.items()},
        )


def _machine(run: Run) -> tuple[SmConfig, Engine]:
    """The configuration without its policies. A predicted run needs no build, and may use a policy in Python only."""
    fetch = ("lrr",) if run.fetch is not None else ()
    return dataclasses.replace(run.config, policies=("lrr",), fetch_policies=fetch), run.engine


def _scheme(run: Run) -> Scheme:
    return Scheme(mode=run.config.coordination, fetch=run.fetch, issue=run.issue, prediction=run.config.prediction)
