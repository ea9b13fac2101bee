"""SmConfig: every bad value is refused with the field's name, what is allowed and the value given."""

import dataclasses

import pytest

from metronome.hdl.config import Channels, Coordination, SmConfig, Turns, Units
from metronome.hdl.frontend.scheduler import Scheduler
from metronome.hdl.presets import PRESETS

#: Field, a bad value, and the words of the message that say what is allowed.
BAD = [
    ("warps", 0, "between 1 and 64"), ("warps", 65, "between 1 and 64"), ("warps", -1, "between 1 and 64"),
    ("threads", 0, "power of two between 1 and 32"), ("threads", 3, "power of two between 1 and 32"),
    ("threads", 64, "power of two between 1 and 32"), ("threads", -2, "power of two between 1 and 32"),
    ("policies", (), "non-empty"), ("policies", ("lrr", "lrr"), "free of repeats"),
    ("fetch_latency", 2, "must be 3"), ("fetch_latency", 4, "must be 3"),
    ("line_bytes", 32, "must be 64"),
    ("icache_ways", 0, "power of two"), ("icache_ways", 3, "power of two"),
    ("icache_bytes", 256, "0 or a power of two of at least two sets"), ("icache_bytes", -64, "0 or a power of two"),
    ("icache_bytes", 3 * 4096, "power of two"), ("icache_bytes", 1 << 25, "at most 16777216"),
    ("dcache_bytes", 1 << 25, "at most 16777216"), ("local_bytes", 1 << 25, "at most 16777216"),
    ("icache_mshrs", 0, "between 1 and 16"), ("icache_mshrs", 17, "between 1 and 16"),
    ("local_bytes", 8, "at least one word per lane"), ("local_bytes", 3000, "power of two"),
    ("load_parts", 1, "power of two between 2 and 64"), ("load_parts", 128, "power of two between 2 and 64"),
    ("dcache_ways", 3, "a power of two"), ("dcache_bytes", 3 * 1024, "0 or a power of two of at least two sets"),
    ("dcache_bytes", 256, "0 or a power of two of at least two sets"),
    ("dcache_mshrs", 0, "between 1 and 64"), ("dcache_mshrs", 65, "between 1 and 64"),
    ("channel_depth", 0, "between 1 and 16"), ("channel_depth", 17, "between 1 and 16"),
    ("channels", "free", "one of Channels.NONE, Channels.FREE"),
    ("store_buffer", 0, "between 1 and 64"), ("store_buffer", 65, "between 1 and 64"),
    ("load_parts", 6, "power of two between 2 and 64"),
    ("latency_alu", 2, "must be 1"), ("latency_csr", 0, "must be 1"), ("latency_simt", 2, "must be 1"),
    ("latency_mul", 1, "between 2 and 8"), ("latency_mul", 9, "between 2 and 8"),
    ("latency_div", 33, "between 34 and 40"), ("latency_div", 41, "between 34 and 40"),
    ("latency_fma", 0, "between 4 and 8"), ("latency_fma", 3, "between 4 and 8"),
    ("latency_fma", 9, "between 4 and 8"), ("latency_fcvt", 4, "between 5 and 8"),
    ("latency_fcvt", 9, "between 5 and 8"), ("latency_fdiv", 15, "between 16 and 40"),
    ("latency_fdiv", 41, "between 16 and 40"), ("latency_fmisc", 1, "between 2 and 8"),
    ("latency_fmisc", 9, "between 2 and 8"), ("latency_fmisc", -1, "between 2 and 8"),
    ("cores", 0, "at least 1"), ("fetch_policies", ("lrr",), "empty"),
    ("warps", 2.0, "a whole number"), ("warps", True, "a whole number"), ("threads", None, "a whole number"),
    ("latency_fma", "4", "a whole number"), ("latency_fma", 4.0, "a whole number"), ("probe", 1, "True or False"),
    ("icache_ways", 2.0, "a whole number"), ("policies", ["lrr"], "a tuple of names"), ("policies", (1,), "of names"),
    ("prediction", "bogus", "one of Prediction.NOT_TAKEN, Prediction.BTFN, Prediction.PRIVATE"),
    ("coordination", "swas", "one of Coord"),
    ("memory_map", None, "a MemoryMap"),
    ("group_warps", 3, "0 or a divisor of warps, 4"), ("group_warps", 8, "0 or a divisor of warps, 4"),
    ("locality_base", 0, "between 1 and 1000"), ("locality_base", 1001, "between 1 and 1000"),
    ("locality_throttle", 0, "between 1 and 64"), ("locality_throttle", 65, "between 1 and 64"),
    ("victim_tags", 0, "between 1 and 64"), ("victim_tags", 65, "between 1 and 64"),
    ("group_warps", -2, "0 or a divisor"), ("rates", (0,), "above 0 for some warp"),
    ("rates", (0, 0, 0, 0), "above 0 for some warp"), ("rates", (1,) * 5, "at most one for each warp"),
    ("rates", (2, -1), "0 or more"), ("rates", (254, 1), "of at most 256 slots for all 4 warps"),
    ("rates", [1], "a tuple of whole numbers"), ("rates", ("1",), "a tuple of whole numbers"),
    ("rates", (True,), "a tuple of whole numbers"),
    ("policy_csr", 1, "True or False"),
    ("return_stack", 3, "0 or a power of two from 1 to 16"), ("return_stack", 32, "0 or a power of two from 1 to 16"),
    ("jump_targets", -1, "from 1 to 16"), ("branch_runs", 1, "from 2 to 16"), ("two_bit", 128, "from 1 to 64"),
    ("core_id", 1, "below cores"), ("core_id", -1, "below cores"),
    ("alu_ports", 2, "0, or 1, 2 or 4 and at most schedulers, 1"), ("alu_ports", 3, "0, or 1, 2 or 4"),
    ("writeback_ports", 4, "at most schedulers, 1"), ("writeback_ports", -1, "0, or 1, 2 or 4"),
    ("units", "shared", "one of Units.SLICES, Units.SHARED"), ("turns", 1, "one of Turns.ALTERNATE, Turns.OLDER"),
]

#: Values at the edge of what is allowed.
GOOD = [
    ("warps", 1), ("warps", 64), ("warps", 5), ("threads", 1), ("threads", 32), ("policies", ("gtlo",)),
    ("icache_ways", 1), ("icache_bytes", 0), ("icache_bytes", 512), ("icache_mshrs", 1), ("icache_mshrs", 16),
    ("local_bytes", 16),
    ("load_parts", 2), ("load_parts", 64), ("dcache_bytes", 0), ("dcache_bytes", 512), ("dcache_ways", 1),
    ("channel_depth", 1), ("channel_depth", 16), ("channels", Channels.FREE),
    ("dcache_mshrs", 1), ("dcache_mshrs", 64), ("store_buffer", 1), ("store_buffer", 64), ("latency_mul", 2),
    ("latency_mul", 8), ("latency_div", 34), ("latency_div", 40), ("latency_fcvt", 5), ("latency_fcvt", 8),
    ("latency_fdiv", 16), ("latency_fdiv", 40), ("latency_fmisc", 2), ("latency_fmisc", 8), ("latency_fma", 4),
    ("latency_fma", 8), ("group_warps", 1), ("group_warps", 4), ("victim_tags", 1), ("victim_tags", 64),
    ("locality_base", 1), ("locality_base", 1000), ("locality_throttle", 1), ("locality_throttle", 64),
    ("rates", (0, 1)), ("rates", (253, 1)), ("rates", (7,)), ("units", Units.SHARED), ("turns", Turns.OLDER),
    ("alu_ports", 1), ("writeback_ports", 1),
    ("policy_csr", True),
]


@pytest.mark.parametrize(("field", "value", "allowed"), BAD, ids=lambda x: str(x))
def test_bad_value(field, value, allowed):
    with pytest.raises(ValueError) as caught:
        SmConfig(**{field: value})
    message = str(caught.value)
    assert message.startswith(f"{field} must be ")
    assert allowed in message
    assert message.endswith(f"not {value!r}")
    # dataclasses.replace checks as well.
    with pytest.raises(ValueError, match=f"^{field} must be "):
        dataclasses.replace(SmConfig(), **{field: value})


@pytest.mark.parametrize(("field", "value"), GOOD, ids=lambda x: str(x))
def test_good_value(field, value):
    assert getattr(SmConfig(**{field: value}), field) == value


def test_a_slot_for_every_warp_where_none_is_given_away():
    allowed = SmConfig(policies=("variable_rate",), rates=(1, 0, 1))
    assert allowed.slot_rates == (1, 0, 1, 1)
    with pytest.raises(ValueError, match=r"^rates must be above 0 for every warp with variable_rate_strict, .* not "):
        dataclasses.replace(allowed, policies=("lrr", "variable_rate_strict"))
    with pytest.raises(ValueError, match=r"^rates must be above 0 for every warp"):
        dataclasses.replace(allowed, coordination=Coordination.BASELINE, fetch_policies=("variable_rate_strict",))


@pytest.mark.parametrize(("warps", "group"), [(1, 1), (2, 2), (4, 2), (6, 3), (7, 7), (8, 4), (32, 8), (64, 8)])
def test_parameters_by_default(warps, group):
    config = SmConfig(warps=warps)
    assert config.two_level_group == group
    assert config.slot_rates == (max(1, warps - 1), *[1] * (warps - 1))


def test_unknown_policy_is_refused_by_the_scheduler():
    """hdl.config knows no policies: the scheduler that builds them refuses, and names those that there are."""
    with pytest.raises(ValueError, match=r"policies must be among fixed, lrr, .*, ccws, not 'fifo'"):
        Scheduler(SmConfig(policies=("lrr", "fifo")))


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SmConfig().warps = 8


@pytest.mark.parametrize(("name", "warps", "threads"), [
    ("TINY", 2, 2), ("BASE", 4, 4), ("MID", 8, 8), ("PAPER", 32, 32), ("ULX3S", 2, 2)])
def test_presets(name, warps, threads):
    """design.md section 1; barriers and stack as isa.md asks for."""
    config = PRESETS[name]
    assert (config.warps, config.threads, config.harts) == (warps, threads, warps * threads)
    assert config.buffer_depth == 4
    assert config.barriers >= max(1, warps // 2)
    assert config.stack_depth >= max(1, threads - 1)


@pytest.mark.parametrize("count", range(1, 65))
def test_widths_hold_every_number(count):
    config = SmConfig(warps=count)
    assert 1 << config.warp_bits >= count > (1 << config.warp_bits - 1 if count > 2 else 0)
    # A power of two, so that an id modulo their number is its low bits.
    assert config.barriers & config.barriers - 1 == 0
