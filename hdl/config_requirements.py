"""The requirements on a configuration."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from .config_checks import (
    LATENCIES,
    PREDICTORS,
    is_power_of_two,
    kind_of,
    require,
    require_channels,
    require_latencies,
    require_locality,
    require_policies,
    require_prediction,
)
from .config_names import Coordination
from .memory_map import require_map, require_stacks

__all__ = ["require_machine"]

#: The largest cache or scratchpad: 16 MiB.
_MAX_BYTES = 1 << 24


def require_machine(config: Any, *, line_bytes: int) -> None:
    """Raise ValueError unless the SmConfig can be built, naming the field, the allowed values and the value given.

    The module of SmConfig imports this one, so the type is not named here. ``line_bytes``: the only size of a line that
    is built.
    """
    _require_types(config)
    require(1 <= config.warps <= 64, "warps", "between 1 and 64", config.warps)
    require(
        1 <= config.threads <= 32 and is_power_of_two(config.threads),
        "threads", "a power of two between 1 and 32", config.threads,
    )
    require(config.schedulers in (1, 2, 4), "schedulers", "1, 2 or 4", config.schedulers)
    require(
        config.warps % config.schedulers == 0, "warps", f"a multiple of schedulers, {config.schedulers}", config.warps,
    )
    for name in ("alu_ports", "writeback_ports"):
        ports = getattr(config, name)
        require(
            ports == 0 or (ports in (1, 2, 4) and ports <= config.schedulers),
            name, f"0, or 1, 2 or 4 and at most schedulers, {config.schedulers}", ports,
        )
    require(
        config.schedulers == 1 or not config.ordered, "channels", "none or free with several schedulers",
        str(config.channels),
    )
    for name in ("latency_fcvt", "latency_fdiv") if config.divides_time else ():
        # The longest that is built and comes in the same turn as latency_fma.
        most = LATENCIES[name][1] - (LATENCIES[name][1] - config.latency_fma) % config.schedulers
        require(
            getattr(config, name) <= most, name,
            f"at most {most} with units=shared, turns=alternate, schedulers={config.schedulers} and "
            f"latency_fma={config.latency_fma}", getattr(config, name),
        )
    # Policies see the warps of their partition.
    require_policies(
        config.warps // config.schedulers, config.policies, config.fetch_policies,
        unified=config.coordination is Coordination.SWAS, group_warps=config.group_warps, rates=config.rates,
    )
    require_locality(
        base=config.locality_base, throttle=config.locality_throttle, victim_tags=config.victim_tags,
    )
    require_prediction({name: getattr(config, name) for name in PREDICTORS})
    require(config.fetch_latency == 3, "fetch_latency", "3", config.fetch_latency)
    require(config.line_bytes == line_bytes, "line_bytes", str(line_bytes), config.line_bytes)
    require(is_power_of_two(config.icache_ways), "icache_ways", "a power of two", config.icache_ways)
    _require_cache(config, "icache_bytes", config.icache_bytes, config.icache_ways)
    require(1 <= config.icache_mshrs <= 16, "icache_mshrs", "between 1 and 16", config.icache_mshrs)
    require(
        is_power_of_two(config.local_bytes) and 4 * config.threads <= config.local_bytes <= _MAX_BYTES,
        "local_bytes", f"a power of two of at least one word per lane and at most {_MAX_BYTES}", config.local_bytes,
    )
    require(is_power_of_two(config.dcache_ways), "dcache_ways", "a power of two", config.dcache_ways)
    _require_cache(config, "dcache_bytes", config.dcache_bytes, config.dcache_ways)
    require(1 <= config.dcache_mshrs <= 64, "dcache_mshrs", "between 1 and 64", config.dcache_mshrs)
    require(1 <= config.store_buffer <= 64, "store_buffer", "between 1 and 64", config.store_buffer)
    require(
        is_power_of_two(config.load_parts) and 2 <= config.load_parts <= 64,
        "load_parts", "a power of two between 2 and 64", config.load_parts,
    )
    require_channels(
        config.channel_depth, config.threads, (*config.policies, *config.fetch_policies), ordered=config.ordered,
    )
    require_latencies({name: getattr(config, name) for name in LATENCIES})
    require(config.cores >= 1, "cores", "at least 1", config.cores)
    require(0 <= config.core_id < config.cores, "core_id", "below cores", config.core_id)
    require_map(config.memory_map, line_bytes=config.line_bytes, local_bytes=config.local_bytes)
    if config.interleaved_stacks:
        require_stacks(
            config.memory_map, config.interleaved_stacks, line_bytes=config.line_bytes, threads=config.threads,
            local_bytes=config.local_bytes,
        )


def _require_types(config: Any) -> None:
    """Require each field to have the type of its default: look-alikes (2.0, True, "swas") would compare wrongly."""
    for field in fields(config):
        value, kind = getattr(config, field.name), type(field.default)
        each = int if field.type == "tuple[int, ...]" else str
        fits = type(value) is kind and (not isinstance(value, tuple) or all(type(part) is each for part in value))
        require(fits, field.name, kind_of(kind, each), value)


def _require_cache(config: Any, name: str, size: int, ways: int) -> None:
    """Require a size that can be built; the limit keeps a mistyped one from exhausting the computer's memory."""
    fits = is_power_of_two(size) and 2 * config.line_bytes * ways <= size <= _MAX_BYTES
    require(size == 0 or fits, name, f"0 or a power of two of at least two sets and at most {_MAX_BYTES}", size)
