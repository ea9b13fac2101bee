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


_InterconnectOption = Annotated[
    str | None,
    typer.Option(
        "--interconnect", metavar="NAME",
        help=f"Which SM may send a request to memory: {', '.join(Interconnect)}; default round_robin.",
    ),
]
_SlotCyclesOption = Annotated[
    int | None, typer.Option("--slot-cycles", metavar="N", help="Cycles of a slot of tdm: 1 (default) to 64.")
]
_L2Option = Annotated[
    str | None, typer.Option("--l2", metavar="NAME", help=f"The L2 of several SMs: {', '.join(L2Kind)}; default none.")
]
_L2BytesOption = Annotated[
    int | None, typer.Option("--l2-bytes", metavar="N", help="Bytes of the L2; default 131072.")
]
_L2WaysOption = Annotated[int | None, typer.Option("--l2-ways", metavar="N", help="Ways of the L2; default 8.")]
_L2RequestsOption = Annotated[
    int | None, typer.Option("--l2-requests", metavar="N", help="Requests of the L2 to memory; default 32.")
]
_DispatchOption = Annotated[
    str | None,
    typer.Option("--dispatch", metavar="NAME", help=f"How SMs get their blocks: {', '.join(Dispatch)}; default none."),
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class GpuOptions:
    """A GPU as the command line names it."""

    sms: Annotated[
        int | None, typer.Option("--sms", metavar="N", help="SMs: 1 (default), 2, 4, 8 or 16 (docs/gpu.md).")
    ] = None
    interconnect: _InterconnectOption = None
    slot_cycles: _SlotCyclesOption = None
    l2: _L2Option = None
    l2_bytes: _L2BytesOption = None
    l2_ways: _L2WaysOption = None
    l2_requests: _L2RequestsOption = None
    dispatch: _DispatchOption = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SweepGpuOptions:
    """The GPUs of ``metronome sweep``: as GpuOptions, with several numbers of SMs."""

    sms: Annotated[
        str | None, typer.Option("--sms", metavar="NUMBERS", help="Numbers of SMs: of 1, 2, 4, 8, 16; with commas.")
    ] = None
    interconnect: _InterconnectOption = None
    slot_cycles: _SlotCyclesOption = None
    l2: _L2Option = None
    l2_bytes: _L2BytesOption = None
    l2_ways: _L2WaysOption = None
    l2_requests: _L2RequestsOption = None
    dispatch: _DispatchOption = None

    def numbers(self) -> list[int]:
        """Return the numbers of SMs; none if there is no --sms.

        Raises
        ------
        UsageError
            For a text that is no list of whole numbers.
        """
        texts = [] if self.sms is None else listed("--sms", self.sms)
        try:
            return [int(text, 0) for text in texts]
        except ValueError:
            raise UsageError(f"--sms {self.sms}: write whole numbers, separated by commas") from None

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
