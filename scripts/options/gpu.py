"""The GPU on the command line: several SMs, and the way in which they share memory."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from metronome.hdl.config import SmConfig
from metronome.hdl.gpu.config import Dispatch, GpuConfig, Interconnect, L2Kind
from metronome.sim.machine.gpu_settings import gpu_of, gpu_value
from metronome.sim.machine.settings import ConfigError

from ..process.errors import UsageError
from .common import listed
from .machine import ChipMachineOptions, Machine, MachineOptions
from .schemes import SchemeOptions

__all__ = ["ChipGpuOptions", "GpuMachineOptions", "GpuOptions", "SweepGpuOptions", "asked_gpu"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class _GpuFields:
    """The fields of a GPU. ``sms``: a number, or several as text."""

    sms: int | str | None = None
    interconnect: Annotated[
        str | None,
        typer.Option(
            "--interconnect", metavar="NAME",
            help=f"Which SM may send a request to memory: {', '.join(Interconnect)}; default round_robin.",
        ),
    ] = None
    slot_cycles: Annotated[
        int | None, typer.Option("--slot-cycles", metavar="N", help="Cycles of a slot of tdm: 1 (default) to 64.")
    ] = None
    l2: Annotated[
        str | None,
        typer.Option("--l2", metavar="NAME", help=f"The L2 of several SMs: {', '.join(L2Kind)}; default none."),
    ] = None
    l2_bytes: Annotated[
        int | None, typer.Option("--l2-bytes", metavar="N", help="Bytes of the L2; default 131072.")
    ] = None
    l2_ways: Annotated[int | None, typer.Option("--l2-ways", metavar="N", help="Ways of the L2; default 8.")] = None
    l2_requests: Annotated[
        int | None, typer.Option("--l2-requests", metavar="N", help="Requests of the L2 to memory; default 32.")
    ] = None
    dispatch: Annotated[
        str | None,
        typer.Option(
            "--dispatch", metavar="NAME", help=f"How SMs get their blocks: {', '.join(Dispatch)}; default none.",
        ),
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class GpuOptions(_GpuFields):
    """A GPU as the command line names it."""

    sms: Annotated[
        int | None, typer.Option("--sms", metavar="N", help="SMs: 1 (default), 2, 4, 8 or 16 (docs/gpu.md).")
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SweepGpuOptions(_GpuFields):
    """The GPUs of ``metronome sweep``: as GpuOptions, with several numbers of SMs."""

    sms: Annotated[
        str | None, typer.Option("--sms", metavar="NUMBERS", help="Numbers of SMs: of 1, 2, 4, 8, 16; with commas.")
    ] = None

    def numbers(self) -> list[int]:
        """Return the numbers of SMs; none if there is no --sms.

        Raises
        ------
        UsageError
            For a text that is no list of whole numbers, and for a number that is named twice.
        """
        if self.sms is None:
            return []
        # The words are split here, because listed() drops those that are repeated.
        listed("--sms", self.sms)
        try:
            numbers = [int(text, 0) for text in self.sms.split(",")]
        except ValueError:
            raise UsageError(f"--sms {self.sms}: write whole numbers, separated by commas") from None
        twice = next((number for number in numbers if numbers.count(number) > 1), None)
        if twice is not None:
            raise UsageError(f"--sms {self.sms}: {twice} is named twice: name each number once")
        return numbers

    def of(self, sms: int) -> GpuOptions:
        """Return the options of one machine. One SM among several numbers has no other field of a GPU."""
        alone = sms == 1 and len(self.numbers()) > 1
        fields = {} if alone else {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return GpuOptions(**{**fields, "sms": sms})


@dataclasses.dataclass(frozen=True, kw_only=True)
class GpuMachineOptions:
    """A machine of one SM or several."""

    machine: MachineOptions
    gpu: GpuOptions


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChipGpuOptions:
    """The same of a command that builds hardware, with one front end."""

    machine: ChipMachineOptions
    scheme: SchemeOptions
    gpu: GpuOptions


def asked_gpu(machine: Machine, config: SmConfig, options: GpuOptions) -> GpuConfig | None:
    """Return the GPU of SMs ``config``; None for one SM. Options replace the fields of the file and of --set.

    Raises
    ------
    UsageError
        If there is no such GPU.
    """
    values, in_file = dict(machine.gpu), set(machine.in_file)
    try:
        for field in dataclasses.fields(options):
            value = getattr(options, field.name)
            if value is not None:
                values[field.name] = gpu_value(field.name, value, as_text=isinstance(value, str))
                in_file.discard(field.name)
        return gpu_of(config, values, in_file=in_file)
    except ConfigError as error:
        raise UsageError(str(error)) from None
