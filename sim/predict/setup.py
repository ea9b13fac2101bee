"""The records of a machine, from a configuration and a request."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from metronome.hdl.config import LINE_BYTES, Channels, SmConfig, Turns
from metronome.hdl.config_checks import SLOTS_OF_TURNS
from metronome.hdl.isa.latencies import unit_latencies
from metronome.hdl.isa.ops import ROUNDED_UNITS
from metronome.hdl.isa.sharing import DIVISION_WINDOW, partitions_of_a_port, partitions_of_an_alu, reserves, turn_groups

from ..machine.events import EVENT, NONE
from ..machine.policies.with_parameters import CacheConscious, frame_of
from ..run.types import RunRequest
from .model import policies, private
from .model.choices import CHOICE
from .model.records import CONFIG, CONTROL, FRONT, ISSUE, ISSUED, LSU, OBSERVER, PORT, WHOLE, Machine

__all__ = ["CHOICES", "LOG", "Executed", "configured", "data_cache", "new_machine"]

#: Entries of the log of issues before it is full and must be emptied.
LOG = 1 << 16
#: The number of cached choices of a policy in Python.
CHOICES = 1 << 18


class Executed(NamedTuple):
    """The instructions that the warps execute: the fields of the same names in :class:`Machine`."""

    steps: np.ndarray
    first: np.ndarray
    known: np.ndarray
    addresses: np.ndarray


def data_cache(config: SmConfig) -> dict[str, int]:
    """Return the parameters of the data cache by their names in CONFIG."""
    sets = max(1, config.dcache_bytes // LINE_BYTES // config.dcache_ways)
    return {
        "dcache": config.dcache_bytes > 0, "dcache_sets": sets, "dcache_bits": max(1, sets.bit_length() - 1),
        "dcache_ways": config.dcache_ways,
    }


def _locality(config: SmConfig) -> dict[str, int]:
    """Return the parameters of ccws by their names in CONFIG."""
    policy = CacheConscious.of(config)
    return {
        "victim_tags": config.victim_tags if config.watches_locality and config.dcache_bytes else 0,
        "locality_base": policy.base, "locality_throttle": policy.throttle, "locality_most": policy.most,
        "locality_steps": policy.steps,
    }


def configured(
    config: SmConfig, request: RunRequest, *, ring: int, supplied: bool = False, oracle: bool = False,
    in_gpu: bool = False,
) -> np.ndarray:
    """Return the CONFIG records of a run: that of the SM, and that of each partition."""
    record = np.concatenate([
        _configured(of, request, ring=ring, supplied=supplied, oracle=oracle) for of in (config, config.partition)
    ])
    for name, value in _sharing(config).items():
        record[name] = value
    record["in_gpu"], record["group"] = in_gpu, NONE
    for number, group in enumerate(turn_groups(config)):
        record["phase"][:, number], record["with_port"][:, number] = group.phase, group.with_port
        for unit in group.units:
            record["group"][:, unit.value] = number
    if config.divides_time:
        latencies = unit_latencies(config)
        least = min(latencies[unit] for unit in ROUNDED_UNITS)
        for unit in ROUNDED_UNITS:
            record["later"][:, unit.value] = latencies[unit] - least
    return record


def _sharing(config: SmConfig) -> dict[str, int]:
    """Return by their names in CONFIG what is known of an SM and of its partitions alike."""
    return {
        "schedulers": config.schedulers, "slots_of_turns": SLOTS_OF_TURNS, "reserves": reserves(config),
        "divides_time": config.divides_time, "window": DIVISION_WINDOW,
        "older": config.turns is Turns.OLDER, "groups": len(turn_groups(config)),
        "partitions_of_an_alu": partitions_of_an_alu(config), "partitions_of_a_port": partitions_of_a_port(config),
    }


def _configured(config: SmConfig, request: RunRequest, *, ring: int, supplied: bool, oracle: bool) -> np.ndarray:
    places, stacks, names = config.memory_map, config.interleaved_stacks, policies.NAMES
    icache_sets = max(1, config.icache_bytes // LINE_BYTES // config.icache_ways)
    values: dict[str, Any] = {
        "warps": config.warps, "threads": config.threads,
        "policy": names.index(request.policy) if request.policy in names else policies.OUTSIDE,
        "max_cycles": request.max_cycles, "barriers": config.barriers, "icache": config.icache_bytes > 0,
        "icache_sets": icache_sets, "icache_ways": config.icache_ways, "fetch_requests": config.fetch_requests,
        "line_requests": config.line_requests, "store_buffer": config.store_buffer, "load_parts": config.load_parts,
        "user_line": places.user // LINE_BYTES, "local": places.local, "local_bytes": config.local_bytes,
        "stacks": stacks.start, "stacks_end": stacks.stop, "stack_block": places.stack_bytes_per_hart * config.threads,
        "stack_words": places.stack_bytes_per_hart // 4, "source_bit": 1 << config.mem_tag_bits - 1,
        "kind_bit": 1 << config.l1_tag_bits - 1, "ring": ring,
        "supplied": supplied, "to_execute": config.issue_latency, "group_warps": config.two_level_group,
        "channels": config.channel_depth if config.channels is Channels.FREE else 0,
        "ordered": config.channel_depth if config.ordered else 0,
        "list_bit": 1 << config.lsu_tag_bits - 1 if config.ordered else 0,
        "lookup_latency": config.lookup_latency, "learns": private.ORACLE if oracle else config.learns,
        "return_stack": config.return_stack, "jump_targets": config.jump_targets, "branch_runs": config.branch_runs,
        "two_bit": config.two_bit,
        **data_cache(config),
        **_locality(config),
    }
    record = np.zeros(1, CONFIG)
    for name, value in values.items():
        record[name] = value
    frame = frame_of(config.slot_rates)
    record["frame"] = len(frame)
    record["owner"][0, : len(frame)] = frame
    record["latency"] = NONE
    for unit, latency in unit_latencies(config).items():
        record["latency"][0, unit.value] = latency
    return record


def new_machine(
    config: np.ndarray, executed: Executed, *, code: np.ndarray, shared: np.ndarray,
    lists: np.ndarray | None = None, events: int = 0, choices: int = 1,
) -> Machine:
    """Return a machine before its first cycle; ``events``, ``choices``: the sizes of its logs."""

    def places(count: int) -> np.ndarray:
        return np.zeros(count, np.int64)

    partitions, whole = int(config["schedulers"][0]), config[0]
    icache = partitions * int(whole["icache_sets"] * whole["icache_ways"])
    dcache = int(whole["dcache_sets"] * whole["dcache_ways"])
    return Machine(
        config=config, front=np.zeros(partitions, FRONT), issue=np.zeros(partitions, ISSUE),
        control=np.zeros(partitions, CONTROL), whole=np.zeros(1, WHOLE),
        lsu=np.zeros(1, LSU), port=np.zeros(1, PORT), observer=np.zeros(1, OBSERVER), code=code,
        **executed._asdict(), shared=shared, writers=places(4 * len(shared)),
        icache_line=places(icache), icache_code=places(icache), icache_used=places(icache),
        dcache_line=places(dcache), dcache_used=places(dcache), dcache_owner=places(dcache),
        lists=np.zeros((1, 5), np.int64) if lists is None else lists, issued=np.zeros(LOG, ISSUED),
        events=np.zeros(events, EVENT), choices=np.zeros(choices, CHOICE),
    )
