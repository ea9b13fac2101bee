"""The fields of ``SmConfig`` by name: meanings, values as text, and TOML files of whole configurations.

A name is that of the field; fields of the memory map are called ``memory_map.start`` and so on.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
import functools
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from metronome.hdl.config import Coordination, MemoryMap, SmConfig

from .policies import files
from .policies.plain import POLICIES

__all__ = ["DEFAULT_FETCH", "FIELDS", "ConfigError", "Field", "as_text", "from_toml", "near", "one_of", "parse",
           "policy_of", "replaced", "to_toml", "values_of"]

#: The value of a field: a number, a switch, the name of an enumeration's member, names of policies, or numbers.
Value = int | bool | str | tuple[str, ...] | tuple[int, ...]

#: The default fetch policy of each front end; swas has no separate fetch policy (docs/policies.md).
DEFAULT_FETCH = {Coordination.BASELINE: "lrr", Coordination.VORTEX: "fixed"}
_MAP = "memory_map"
#: The header of a table, or the key of a value; sufficient for the names of fields.
_TOML_LINE = re.compile(r"\s*(?:\[\s*(?P<table>[\w.-]+)\s*\]|(?P<key>[\w.-]+)\s*=)")
_SWITCH = {"true": True, "false": False}
#: The number of powers of two, from 1 on, that a field may take.
_POWERS = 33
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class ConfigError(ValueError):
    """An invalid configuration; the message is one line: the field, its valid values, and the value given."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Field:
    """One field: its name such as ``memory_map.user``, its default, its unit if any, and its meaning."""

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
    """Return `` (did you mean X?)`` for a name that resembles one of ``names``, else an empty string."""
    # Names of two letters all resemble each other.
    known = {each.lower(): each for each in names if len(each) > 2}
    found = difflib.get_close_matches(name.lower(), known, 1, 0.5)
    # A missing prefix is a large difference, but the intention is clear: user for memory_map.user.
    found = found or [each for each in known if name and each.endswith(f".{name.lower()}")][:1]
    return f" (did you mean {known[found[0]]}?)" if found else ""


def one_of(what: str, value: str, names: Iterable[str]) -> str:
    """Return the one of ``names`` that equals ``value``, ignoring case.

    Raises
    ------
    ConfigError
        For any other value, with a similar name if there is one; ``what`` names the setting in the message.
    """
    known = {name.lower(): name for name in names}
    if value.lower() in known:
        return known[value.lower()]
    raise ConfigError(f"{what}: unknown name {value!r}{near(value, known.values())}: use {', '.join(known.values())}")


def policy_of(what: str, value: str) -> str:
    """Return the name of the warp policy ``value``: a built-in one, or one loaded from a file (:mod:`.policies.files`).

    Raises
    ------
    ConfigError
        For any other value; ``what`` names the setting in the message.
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
        raise ConfigError(f"unknown field {name!r}{near(name, FIELDS)}: metronome config lists the fields")
    return FIELDS[name]


def _one_of(name: str, text: str, names: Iterable[str]) -> str:
    """Return the one of ``names`` that equals ``text``, ignoring case."""
    known = {each.lower(): each for each in names}
    if text.lower() not in known:
        raise ConfigError(f"{name} must be one of {', '.join(known.values())}, not {text!r}{near(text, known)}")
    return known[text.lower()]


def _number(field: Field, text: str) -> int:
    """Parse a decimal or hexadecimal number; a number of bytes may have the suffix K, M or G."""
    sized = re.fullmatch(r"(-?[0-9][0-9_]*)([KMG]?)(?:i?B)?", text, re.ASCII) if field.unit == "bytes" else None
    try:
        return int(sized[1]) * _FACTORS[sized[2]] if sized else int(text, 0)
    except ValueError:
        raise ConfigError(f"{field.name} must be a whole number, not {text!r}") from None


def parse(name: str, text: str) -> Value:
    """Parse ``text`` as a value of the field ``name``; a plus sign separates several policies or numbers.

    Raises
    ------
    ConfigError
        If the field is unknown, or ``text`` is not a value of its type.
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
    """Convert a value to the type of its field, because TOML has neither tuples nor enumerations."""
    field = _field(name)
    if issubclass(field.kind, enum.Enum) and isinstance(value, str):
        return field.kind(_one_of(name, value, field.kind))
    if field.numbers and isinstance(value, list):
        return tuple(value)
    if field.kind is tuple and isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return tuple(policy_of(name, each) if files.is_file(each) else _one_of(name, each, POLICIES) for each in value)
    return value


def replaced(config: SmConfig, values: Mapping[str, Any]) -> SmConfig:
    """Return the configuration with these values in place of its own.

    Unless the values include fetch policies, a new front end gets the usual ones if it needs them, and none otherwise.

    Raises
    ------
    ConfigError
        If a field is unknown, or ``SmConfig`` rejects a value; the message is then that of ``SmConfig``.
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
    """Return `` (the nearest are 512 and 1024)`` if the refused number must be a power of two, else an empty string."""
    match = re.fullmatch(r"(\w+) must be (.*\bpower of two\b.*), not (-?\d+)", refusal)
    if match is None:
        return ""
    name, value = match[1], int(match[3])

    def fits(number: int) -> bool:
        try:
            made(**{name: number})
        except ValueError as error:
            return not str(error).startswith(f"{name} ")  # an error in another field is reported next
        return True

    powers = [0, *(1 << bit for bit in range(_POWERS))]
    found = [next(filter(fits, (each for each in reversed(powers) if each < value)), None),
             next(filter(fits, (each for each in powers if each > value)), None)]
    numbers = [str(number) for number in found if number is not None]
    return f" (the nearest {'are' if len(numbers) > 1 else 'is'} {' and '.join(numbers)})" if numbers else ""


def values_of(config: SmConfig) -> dict[str, Any]:
    """Return a dict from the name of every field to its value."""
    return {name: functools.reduce(getattr, name.split("."), config) for name in FIELDS}


def as_text(name: str, value: Any) -> str:
    """Format a value as :func:`parse` accepts it, with addresses in hexadecimal."""
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:#010x}" if FIELDS[name].unit == "address" else str(value)


def to_toml(config: SmConfig) -> str:
    """Return a TOML file of every field with its meaning, which :func:`from_toml` can read."""
    lines = ["# A machine, for metronome run --config FILE. Fields that are left out are the preset's.", ""]
    inside = ""
    # A table extends to the end of the file, so fields outside any table come first.
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
    """Describe a table or key that a TOML file has twice, if the parser rejected it for that reason, else None."""
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
            return f"line {number}: {name} is {'there' if match['table'] else 'set'} twice, also in line {seen[name]}"
        seen[name] = number
    return None


def from_toml(text: str, *, also: Collection[str] = ()) -> dict[str, Any]:
    """Return a dict from field to value of a TOML file, for :func:`replaced`; the file may have fields ``also``.

    Raises
    ------
    ConfigError
        If the text is not TOML, or has a table or field that a configuration does not have.
    """
    import tomllib  # imported here because few configurations come from a file

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        suffix = re.search(r"=\s*(\d+)([KMG])\b", text)
        hint = ""
        if suffix:
            whole = int(suffix[1]) * _FACTORS[suffix[2]]
            hint = f" (write {whole} for {suffix[1]}{suffix[2]}, which only --set takes)"
        raise ConfigError(_twice(text, str(error)) or f"not TOML: {error}{hint}") from None
    values: dict[str, Any] = {}
    for name, value in document.items():
        if name == _MAP and isinstance(value, dict):
            values |= {f"{_MAP}.{part}": place for part, place in value.items()}
        elif isinstance(value, dict) and name not in FIELDS:
            raise ConfigError(f"unknown table [{name}]{near(name, [_MAP])}: the only table is [{_MAP}]")
        else:
            values[name] = value
    for name in values:
        if name not in also:
            _field(name)
    return values
