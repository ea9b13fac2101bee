"""The fields of ``GpuConfig`` by name, as the command line and TOML files give them."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Collection, Mapping
from typing import Any

from metronome.hdl.config import SmConfig
from metronome.hdl.gpu.config import GpuConfig, Interconnect

from .settings import ConfigError, one_of

__all__ = ["GPU_ABOUT", "GPU_FIELDS", "gpu_of", "gpu_value", "gpu_values", "gpu_words"]

#: The fields that make a GPU of several SMs. One SM has none of them.
GPU_FIELDS = ("sms", "interconnect", "slot_cycles")
#: The meaning of each.
GPU_ABOUT = {
    "sms": "number of SMs",
    "interconnect": "which SM may send a request to memory",
    "slot_cycles": "with tdm: cycles of a slot",
}


def gpu_value(name: str, value: Any, *, as_text: bool) -> int | str:
    """Return the value of a field, given as text (``as_text``) or with its own type, as in a TOML file.

    Raises
    ------
    ConfigError
        If it is not a value of its type.
    """
    if name == "interconnect":
        return one_of(name, str(value), [each.value for each in Interconnect])
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
    sms = values.get("sms", 1)
    interconnect = Interconnect(str(values.get("interconnect", Interconnect.ROUND_ROBIN)))
    if sms == 1:
        for name in ("interconnect", "slot_cycles"):
            if name in values and name not in in_file:
                raise ConfigError(f"{name}: it has no effect without sms=2 or more")
        return None
    if "slot_cycles" in values and "slot_cycles" not in in_file and interconnect is not Interconnect.TDM:
        raise ConfigError("slot_cycles: it has no effect without interconnect=tdm")
    try:
        return GpuConfig(
            sm=config, sms=int(sms), interconnect=interconnect, slot_cycles=int(values.get("slot_cycles", 1)))
    except ValueError as error:
        raise ConfigError(str(error).replace("2, 4, 8 or 16", "1, 2, 4, 8 or 16")) from None


def gpu_values(gpu: GpuConfig) -> dict[str, int | str]:
    """Return the fields of :data:`GPU_FIELDS` by name, as JSON has them."""
    values = {name: getattr(gpu, name) for name in GPU_FIELDS}
    return {name: value.value if isinstance(value, enum.Enum) else value for name, value in values.items()}


def gpu_words(gpu: GpuConfig) -> list[str]:
    """Return the options of the command line that make this GPU of its SM; none for a default."""
    usual = {field.name: field.default for field in dataclasses.fields(gpu)}
    return [word for name, value in gpu_values(gpu).items() if value != usual[name]
            for word in (f"--{name.replace('_', '-')}", str(value))]
