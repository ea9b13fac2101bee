"""The header that tb/top.sv is compiled with: the layouts of a configuration."""

from __future__ import annotations

from collections.abc import Sequence

from metronome.hdl.config import SmConfig
from metronome.hdl.config_names import named
from metronome.hdl.layouts.counters import REASON_BITS, StallReason
from metronome.hdl.layouts.memory import memory_request_layout, memory_response_layout
from metronome.hdl.layouts.probe import LookupWait, probe_layout

from .records import flatten, record_layout, status_layout

__all__ = ["layout_header"]

#: Fields of the probe that each partition has: of which unit, and which.
_OF_PARTITIONS = (
    ("front", "SELECT_VALID"), ("front", "SELECT_WARP"), ("front", "SELECT_NOP"), ("control", "ACTIVE"),
    ("control", "WAITING"), ("issue", "VALID"), ("issue", "WARP"), ("issue", "PC"), ("issue", "INSTRUCTION"),
    ("wb", "VALID"), ("wb", "VALUE_LAST"), ("wb", "VALUE_WARP"), ("wb", "VALUE_RD"),
)


def layout_header(
    config: SmConfig, *, tag_bits: int | None = None, of_partitions: Sequence[tuple[str, str]] = (),
) -> str:
    """layout.svh: the position and width of every field that tb/top.sv touches, from the layouts themselves.

    ``tag_bits``: of the memory port, if it is not the SM's own. ``of_partitions``: further fields of the probe that
    each partition has: of which unit, and which.
    """
    record = record_layout(config)
    groups = {
        "REQ": memory_request_layout(config, tag_bits=tag_bits),
        "RESP": memory_response_layout(config, tag_bits=tag_bits),
        "PROBE": probe_layout(config), "STATUS": status_layout(config),
    }
    lines = []
    if config.probe:
        lines.append("`define METRONOME_PROBE")
    if config.assertions:
        lines.append("`define METRONOME_ASSERTIONS")
    for strap, policies in (("POLICY", config.policies), ("FETCH_POLICY", config.fetch_policies)):
        if len(policies) > 1:
            lines.append(f"`define METRONOME_{strap}")
            lines.append(f"localparam int {strap}_BITS = {(len(policies) - 1).bit_length()};")
    numbers = {"STALL_REASONS": len(StallReason), "STALL_REASON_BITS": REASON_BITS, "LOOKUP_WAITS": len(LookupWait)}
    lines += [f"localparam int {name} = {number};" for name, number in numbers.items()]
    # The probe is the low end of a record, so the header adds only the part after it.
    port = record["port"]
    fields = list(flatten(port.shape, "RECORD_PORT", port.offset))
    lines.append(f"localparam int RECORD_BITS = {record.size};")
    for prefix, layout in groups.items():
        lines.append(f"localparam int {prefix}_BITS = {layout.size};")
        fields += flatten(layout, prefix)
    for name, offset, width in fields:
        lines.append(f"localparam int {name}_LSB = {offset};")
        lines.append(f"localparam int {name}_BITS = {width};")
    lines.append(f"localparam int SCHEDULERS = {config.schedulers}, WARPS = {config.warps};")
    places = {name: offset for name, offset, _ in fields}
    for unit, name in (*_OF_PARTITIONS, *of_partitions):
        at = [places[f"PROBE_{named(unit, p).upper()}_{name}"] for p in range(config.schedulers)]
        lines.append(f"localparam int AT_{unit.upper()}_{name} [0:SCHEDULERS-1] = '{{{', '.join(map(str, at))}}};")
    return "\n".join(lines) + "\n"
