"""The fields of ``SmConfig`` by name: what each means, its values as text, and a TOML file of a whole configuration.

A name is that of the field; those of the memory map are ``memory_map.start`` and so on.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from metronome.hdl.config import Coordination, MemoryMap, SmConfig

from .policies import files
from .policies.plain import POLICIES

__all__ = ["DEFAULT_FETCH", "FIELDS", "ConfigError", "Field", "as_text", "from_toml", "near", "one_of", "parse",
           "policy_of", "replaced", "to_toml", "values_of"]

#: What a field holds: a number, a switch, the name of an enumeration's member, names of policies, or numbers.
Value = int | bool | str | tuple[str, ...] | tuple[int, ...]

#: The fetch policy of a front end where none is given; swas has none of its own (docs/policies.md).
DEFAULT_FETCH = {Coordination.BASELINE: "lrr", Coordination.VORTEX: "fixed"}
_MAP = "memory_map"
#: The head of a table, or the key of a value; good enough for the names of fields.
_TOML_LINE = re.compile(r"\s*(?:\[\s*(?P<table>[\w.-]+)\s*\]|(?P<key>[\w.-]+)\s*=)")
_SWITCH = {"true": True, "false": False}
#: No field takes a power of two that is larger.
_POWERS = 33
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class ConfigError(ValueError):
    """A configuration that cannot be; one line: the field, what it may be, and the value given."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Field:
    """One field: ``memory_map.user``, its default, the unit if it has one, and what it means."""

    name: str
    default: Any
    unit: str | None
    about: str
    numbers: bool = False  # the parts of a tuple are numbers; without it, names of policies

    @property
    def kind(self) -> type:
        """The type of its values."""
        return type(self.default)


def _described(kind: type, prefix: str = "") -> Iterable[Field]:
    for field in dataclasses.fields(kind):
        if field.name == _MAP:
            yield from _described(MemoryMap, f"{_MAP}.")
            continue
        yield Field(name=prefix + field.name, default=field.default, numbers=field.type == "tuple[int, ...]",
                    **field.metadata)


#: Every field of a configuration by its name.
FIELDS: Mapping[str, Field] = {field.name: field for field in _described(SmConfig)}


def near(name: str, names: Iterable[str]) -> str:
    """`` (did you mean X?)`` for a name that resembles one of ``names``, else nothing."""
    # Names of two letters resemble each other all.
    known = {each.lower(): each for each in names if len(each) > 2}
    found = difflib.get_close_matches(name.lower(), known, 1, 0.5)
    # A part that was left out is no small difference, but a clear one: user for memory_map.user.
    found = found or [each for each in known if name and each.endswith(f".{name.lower()}")][:1]
    return f" (did you mean {known[found[0]]}?)" if found else ""


def one_of(what: str, value: str, names: Iterable[str]) -> str:
    """The one of ``names`` that ``value`` names, in upper or lower case.

    Raises
    ------
    ConfigError
        For any other value, with the name that resembles it; ``what`` says whose value it is.
    """
    known = {name.lower(): name for name in names}
    if value.lower() in known:
        return known[value.lower()]
    raise ConfigError(f"{what}: unknown name {value!r}{near(value, known.values())}: use {', '.join(known.values())}")


def policy_of(what: str, value: str) -> str:
    """The name of the warp policy ``value``: one of ours, or of a file, which is loaded (:mod:`.policies.files`).

    Raises
    ------
    ConfigError
        For any other value; ``what`` says whose value it is.
    """
    if not files.is_file(value):
        return one_of(what, value, POLICIES)
    try:
        return files.load(value)
    except files.PolicyFileError as error:
        raise ConfigError(f"{what} {error}") from None


def _field(name: str) -> Field:
    if name == _MAP:
        raise ConfigError(f"{_MAP} is set by its parts: {', '.join(part for part in FIELDS if part.startswith(_MAP))}")
    if name not in FIELDS:
        raise ConfigError(f"there is no field {name!r}{near(name, FIELDS)}: metronome config lists them")
    return FIELDS[name]


def _one_of(name: str, text: str, names: Iterable[str]) -> str:
    """The one of ``names`` that ``text`` is, in any case."""
    known = {each.lower(): each for each in names}
    if text.lower() not in known:
        raise ConfigError(f"{name} must be one of {', '.join(known.values())}, not {text!r}{near(text, known)}")
    return known[text.lower()]


def _number(field: Field, text: str) -> int:
    """Decimal or hexadecimal; bytes may have K, M or G behind them."""
    sized = re.fullmatch(r"(-?[0-9][0-9_]*)([KMG]?)(?:i?B)?", text, re.ASCII) if field.unit == "bytes" else None
    try:
        return int(sized[1]) * _FACTORS[sized[2]] if sized else int(text, 0)
    except ValueError:
        raise ConfigError(f"{field.name} must be a whole number, not {text!r}") from None


def parse(name: str, text: str) -> Value:
    """The value of the field ``name`` that ``text`` says; a plus sign parts names of policies, and numbers.

    Raises
    ------
    ConfigError
        For an unknown field, and for a text that is no value of its type.
    """
    field, text = _field(name), text.strip()
    if issubclass(field.kind, enum.Enum):
        return _one_of(name, text, field.kind)
    if field.kind is tuple:
        if "," in text:
            what, example = ("numbers", "3+1") if field.numbers else ("names", "lrr+gtlo")
            raise ConfigError(f"{name}: write {what} with + between them, e.g. {example}, not {text!r}")
        parts = text.split("+") if text else []
        return tuple(_number(field, part) for part in parts) if field.numbers else tuple(parts)
    if field.kind is bool:
        return _SWITCH[_one_of(name, text, _SWITCH)]
    return _number(field, text)


def _checked(name: str, value: Any) -> Any:
    """The value as the field holds it: TOML has neither tuples nor enumerations."""
    field = _field(name)
    if issubclass(field.kind, enum.Enum) and isinstance(value, str):
        return field.kind(_one_of(name, value, field.kind))
    if field.numbers and isinstance(value, list):
        return tuple(value)
    if field.kind is tuple and isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return tuple(policy_of(name, each) if files.is_file(each) else _one_of(name, each, POLICIES) for each in value)
    return value


def replaced(config: SmConfig, values: Mapping[str, Any]) -> SmConfig:
    """The configuration with these values instead of its own.

    A front end that needs fetch policies gets the usual ones, and one that has none loses them, unless they are
    among the values.

    Raises
    ------
    ConfigError
        For an unknown field, and with the message of ``SmConfig`` for what it refuses.
    """
    new = {name: _checked(name, value) for name, value in values.items()}
    scheme = new.get("coordination", config.coordination)
    if scheme is not config.coordination and "fetch_policies" not in new:
        usual = DEFAULT_FETCH.get(scheme)
        policies = new.get("policies", config.policies)
        new["fetch_policies"] = () if usual is None else policies if usual in policies else (usual,)
    parts = {name.partition(".")[2]: value for name, value in new.items() if name.startswith(f"{_MAP}.")}
    whole = {name: value for name, value in new.items() if "." not in name}

    def made(**others: Any) -> SmConfig:
        memory_map = dataclasses.replace(config.memory_map, **parts)
        return dataclasses.replace(config, **{"memory_map": memory_map, **whole, **others})

    try:
        return made()
    except ValueError as error:
        raise ConfigError(f"{error}{_nearest(str(error), made)}") from None


def _nearest(refusal: str, made: Callable[..., SmConfig]) -> str:
    """`` (the nearest are 512 and 1024)`` behind the refusal of a number that must be a power of two, else nothing."""
    match = re.fullmatch(r"(\w+) must be (.*\bpower of two\b.*), not (-?\d+)", refusal)
    if match is None:
        return ""
    name, value = match[1], int(match[3])

    def fits(number: int) -> bool:
        try:
            made(**{name: number})
        except ValueError as error:
            return not str(error).startswith(f"{name} ")  # another field's mistake is the next one to be told
        return True

    powers = [0, *(1 << bit for bit in range(_POWERS))]
    found = [next(filter(fits, (each for each in reversed(powers) if each < value)), None),
             next(filter(fits, (each for each in powers if each > value)), None)]
    numbers = [str(number) for number in found if number is not None]
    return f" (the nearest {'are' if len(numbers) > 1 else 'is'} {' and '.join(numbers)})" if numbers else ""


def values_of(config: SmConfig) -> dict[str, Any]:
    """Field -> value, for every field."""
    return {name: functools.reduce(getattr, name.split("."), config) for name in FIELDS}


def as_text(name: str, value: Any) -> str:
    """The value as :func:`parse` takes it: addresses in hexadecimal."""
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:#010x}" if FIELDS[name].unit == "address" else str(value)


def to_toml(config: SmConfig) -> str:
    """Every field with its meaning, as a TOML file that :func:`from_toml` reads back."""
    lines = ["# A machine, for metronome run --config FILE. Fields that are left out are the preset's.", ""]
    inside = ""
    # A table ends with the file: what is in none comes first.
    for name, value in sorted(values_of(config).items(), key=lambda item: item[0].startswith(f"{_MAP}.")):
        field = FIELDS[name]
        table, _, own = name.rpartition(".")
        if table != inside:
            lines += ["", f"[{table}]"]
            inside = table
        written = as_text(name, value) if field.unit == "address" else json.dumps(value)
        unit = f"[{field.unit}] " if field.unit else ""
        lines += [f"# {unit}{field.about}", f"{own} = {written}"]
    return "\n".join(lines) + "\n"


def _twice(text: str, refusal: str) -> str | None:
    """The line and the name of what a TOML file has twice, if that is why the parser has refused it, else None."""
    if not refusal.startswith("Cannot "):
        return None
    seen: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.split("\n"), 1):
        match = _TOML_LINE.match(line)
        if match is None:
            continue
        if match["table"]:
            table = match["table"]
            name = f"[{table}]"
        else:
            name = ".".join(filter(None, [table, match["key"]]))
        if name in seen:
            return f"line {number}: {name} is {'there' if match['table'] else 'set'} twice, in line {seen[name]} too"
        seen[name] = number
    return None


def from_toml(text: str) -> dict[str, Any]:
    """Field -> value of a TOML file, for :func:`replaced`.

    Raises
    ------
    ConfigError
        If it is no TOML, or has a table that is none of a configuration.
    """
    import tomllib  # for the few machines that come from a file

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        suffix = re.search(r"=\s*(\d+)([KMG])\b", text)
        hint = ""
        if suffix:
            whole = int(suffix[1]) * _FACTORS[suffix[2]]
            hint = f" (write {whole} for {suffix[1]}{suffix[2]}, which only --set takes)"
        raise ConfigError(_twice(text, str(error)) or f"no TOML: {error}{hint}") from None
    values: dict[str, Any] = {}
    for name, value in document.items():
        if name == _MAP and isinstance(value, dict):
            values |= {f"{_MAP}.{part}": place for part, place in value.items()}
        elif isinstance(value, dict) and name not in FIELDS:
            raise ConfigError(f"there is no table [{name}]{near(name, [_MAP])}: the only one is [{_MAP}]")
        else:
            values[name] = value
    for name in values:
        _field(name)
    return values
