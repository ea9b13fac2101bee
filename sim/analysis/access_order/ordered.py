"""Launches whose accesses reach the data cache in the order of a listing."""

from __future__ import annotations

import dataclasses
from typing import Any

from metronome.hdl.config import Channels, SmConfig
from metronome.hdl.isa.csrs import Csr

from ...program.assembler import asm
from ...program.assembler.asm import Program
from ...program.elf import ImageError
from ...program.kernels import Launch
from ...program.region_stub import free_place, with_stub
from ...run.types import RunRequest
from ..code.refusals import RefusedError
from .analyzer import analyze
from .configuration import encode, entries_of
from .records import Listing

__all__ = ["LIST_ADDRESS", "LIST_NAME", "ordered_launch", "ordered_machine", "with_order"]

#: The address of the list, and its name among loaded files.
LIST_ADDRESS = 0x4000_0000
LIST_NAME = "order"
_ZERO, _T0 = asm.REGISTERS["zero"], asm.REGISTERS["t0"]


def ordered_machine(config: SmConfig, **fields: Any) -> SmConfig:
    """Return the machine with ordered channels deep enough for a load or store, and with other ``fields``.

    Raises
    ------
    ValueError
        As from :class:`SmConfig`, for example for a policy that ordered channels exclude.
    """
    depth = max(fields.pop("channel_depth", config.channel_depth), config.threads)
    return dataclasses.replace(config, channels=Channels.ORDERED, channel_depth=depth, **fields)


def ordered_launch(config: SmConfig, request: RunRequest, launch: Launch) -> tuple[Launch, Listing | None]:
    """Return the ``launch`` of ``request``, with its list of accesses if ``config`` has ordered channels.

    Also return the listing; None without ordered channels.

    Raises
    ------
    RefusedError
        If the list is not the same in every run.
    ImageError
        If there is no room for the list.
    """
    if not config.ordered:
        return launch, None
    listing = analyze(config, request, launch)
    return with_order(launch, listing, config), listing


def with_order(launch: Launch, listing: Listing, config: SmConfig) -> Launch:
    """Return ``launch`` with the list of the region's accesses, and instructions that write its address to morder.

    They execute before the program, whose own instructions do not change.

    Raises
    ------
    RefusedError
        If the program has several measured regions.
    ImageError
        If something else is loaded at the list's address, or there is no room for the instructions.
    """
    if listing.regions > 1:
        raise RefusedError(f"it begins the measured region {listing.regions} times, but a list covers only one")
    data = encode(entries_of(listing.accesses))
    end = LIST_ADDRESS + len(data)
    places = [(segment.address, segment.end) for segment in launch.image.segments]
    places += [(address, address + len(loaded)) for address, loaded in (launch.buffers | launch.loads).values()]
    if any(low < end and LIST_ADDRESS < high for low, high in places):
        raise ImageError(
            f"channels=ordered: the list of accesses lies at {LIST_ADDRESS:#x} to {end - 1:#x}, and the program "
            "loads data there: move that data"
        )
    entry = launch.image.entry
    place = free_place(launch, config, entry)
    program = Program(place)
    program.add(asm.lui(_T0, LIST_ADDRESS >> 12), asm.csrrw(_ZERO, Csr.MORDER, _T0), asm.jal(_ZERO, entry - place - 8))
    image = dataclasses.replace(with_stub(launch.image, program, entry), entry=place)
    return dataclasses.replace(launch, image=image, loads=launch.loads | {LIST_NAME: (LIST_ADDRESS, data)})
