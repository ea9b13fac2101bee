"""The fields of ``GpuConfig`` by name, as the command line and TOML files give them."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

from metronome.hdl.config import SmConfig
from metronome.hdl.gpu.config import Dispatch, GpuConfig, Interconnect, L2Kind

from .settings import ConfigError, one_of

__all__ = [
    "GPU_ABOUT", "GPU_FIELDS", "L2_SIZES", "gpu_changes", "gpu_of", "gpu_value", "gpu_values", "gpu_words",
]

#: The fields that make a GPU of several SMs. One SM has none of them.
GPU_FIELDS = ("sms", "interconnect", "slot_cycles", "l2", "l2_bytes", "l2_ways", "l2_requests", "dispatch")
#: The meaning of each.
GPU_ABOUT = {
    "sms": "number of SMs",
    "interconnect": "which SM may send a request to memory",
    "slot_cycles": "with tdm: cycles of a slot",
    "l2": "the cache between the SMs and memory",
    "l2_bytes": "bytes of its lines",
    "l2_ways": "its ways",
    "l2_requests": "its requests that wait for memory",
    "dispatch": "the unit that hands out the blocks of a launch",
}
#: Those whose values are names, and the names.
_NAMES: dict[str, type[StrEnum]] = {"interconnect": Interconnect, "l2": L2Kind, "dispatch": Dispatch}
#: Those that only an L2 has.
L2_SIZES = ("l2_bytes", "l2_ways", "l2_requests")


def gpu_value(name: str, value: Any, *, as_text: bool) -> int | str:
    """Return the value of a field, given as text (``as_text``) or with its own type, as in a TOML file.

    Raises
    ------
    ConfigError
        If it is not a value of its type.
    """
    if name in _NAMES:
        return one_of(name, str(value), [each.value for each in _NAMES[name]])
    if as_text:
        try:
            return int(value, 0)
        except ValueError:
            raise ConfigError(f"{name} must be a whole number, not {value!r}") from None
    if type(value) is not int:
        raise ConfigError(f"{name} must be a whole number, not {value!r}")
    return value


def gpu_of(
    config: SmConfig, values: Mapping[str, int | str], *, in_file: Collection[str] = (),
) -> GpuConfig | None:
    """Return the GPU with these fields; None for one SM. Those ``in_file`` need not have an effect.

    Raises
    ------
    ConfigError
        If there is no such GPU, or a field has no effect.
    """
    given: dict[str, Any] = {name: _NAMES[name](str(value)) if name in _NAMES else int(value)
                             for name, value in values.items()}
    sms = given.pop("sms", 1)
    without_effect = {
        "without sms=2 or more": (sms == 1, [name for name in GPU_FIELDS if name != "sms"]),
        "without interconnect=tdm": (given.get("interconnect") is not Interconnect.TDM, ["slot_cycles"]),
        "without l2=shared or l2=divided": (given.get("l2", L2Kind.NONE) is L2Kind.NONE, L2_SIZES),
    }
    for reason, (applies, names) in without_effect.items():
        for name in names:
            if applies and name in given and name not in in_file:
                raise ConfigError(f"{name}: it has no effect {reason}")
    if sms == 1:
        return None
    try:
        return GpuConfig(sm=config, sms=sms, **given)
    except ValueError as error:
        raise ConfigError(str(error).replace("sms must be 2,", "sms must be 1, 2,")) from None


def gpu_values(gpu: GpuConfig) -> dict[str, int | str]:
    """Return the fields of :data:`GPU_FIELDS` by name, as JSON has them."""
    values = {name: getattr(gpu, name) for name in GPU_FIELDS}
    return {name: value.value if isinstance(value, enum.Enum) else value for name, value in values.items()}


def gpu_changes(gpu: GpuConfig) -> dict[str, int | str]:
    """Return the number of SMs and the other fields that do not have their defaults, by name."""
    usual = {field.name: field.default for field in dataclasses.fields(gpu)}
    return {name: value for name, value in gpu_values(gpu).items() if value != usual[name]}


def gpu_words(gpu: GpuConfig) -> list[str]:
    """Return the options of the command line that make this GPU of its SM; none for a default."""
    return [word for name, value in gpu_changes(gpu).items()
            for word in (f"--{name.replace('_', '-')}", str(value))]
