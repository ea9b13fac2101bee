"""The fields that have an effect only with others: the list against the hardware that is built."""

import dataclasses
import functools
import hashlib

import pytest

from metronome.hdl.presets import TINY
from metronome.hdl.sm import Sm
from metronome.sim.fpga.synth.flow import rtlil_text
from metronome.sim.machine import settings
from metronome.sim.machine.conditions import CONDITIONS, without_effect
from metronome.sim.machine.policies.files import load
from tests.sim.machine.test_settings import ALTERED, BESIDE

#: What a field needs is there in BASE, and these take it away.
WITHOUT = {
    "icache_ways": {"icache_bytes": "0"}, "icache_mshrs": {"icache_bytes": "0"},
    "dcache_ways": {"dcache_bytes": "0"}, "dcache_mshrs": {"dcache_bytes": "0"},
    **{f"latency_{unit}": {"fpu": "false"} for unit in ("fma", "fcvt", "fdiv", "fmisc")},
    "interleave_stacks": {"threads": "1"},
}
#: Values other than those of TINY, which has two warps, in place of ALTERED's.
TINYS = {"icache_bytes": "8K", "rates": "3+2"}
POLICY = """
from metronome.sim.machine.policies.plain import POLICIES

class Mine(POLICIES["lrr"]):
    pass
"""


def machine(texts):
    return settings.replaced(TINY, {field: settings.parse(field, text) for field, text in texts.items()})


@functools.cache
def hardware_of(config):
    return hashlib.sha256(rtlil_text(Sm(config), "top").encode()).digest()


def hardware(texts):
    return hardware_of(machine(texts))


def altered(field):
    return {field: TINYS.get(field, ALTERED[field])}


@pytest.mark.parametrize("field", CONDITIONS)
def test_the_condition(field):
    lacking, has = machine(WITHOUT.get(field, {})), machine(BESIDE.get(field, {}))
    needs = CONDITIONS[field].needs
    assert without_effect(field, [lacking]) == without_effect(field, [lacking, lacking]) == needs
    assert without_effect(field, [has]) is without_effect(field, [lacking, has]) is None


def test_other_fields_always_have_one():
    others = set(settings.FIELDS) - set(CONDITIONS)
    assert others and all(without_effect(field, [TINY]) is None for field in others)


def test_a_fetch_policy_reads_parameters():
    baseline = settings.replaced(TINY, {"coordination": "baseline"})
    assert without_effect("group_warps", [baseline]) == "the policy two_level"
    assert without_effect("group_warps", [dataclasses.replace(baseline, fetch_policies=("two_level",))]) is None


def test_a_policy_from_a_file_may_read_any_parameter(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(POLICY)
    mine = dataclasses.replace(TINY, policies=(load(f"{file}:Mine"),))
    assert without_effect("rates", [mine]) is without_effect("locality_base", [mine]) is None
    assert without_effect("return_stack", [mine]) == "prediction=private"


@pytest.mark.long
@pytest.mark.parametrize("field", [field for field in CONDITIONS if not field.startswith("latency_f")])
def test_without_its_condition_the_hardware_is_the_same(field):
    lacking, has = WITHOUT.get(field, {}), BESIDE.get(field, {})
    assert hardware(lacking | altered(field)) == hardware(lacking)
    assert hardware(has | altered(field)) != hardware(has)


# An FPU that is not there leaves its latencies in the table of all units, where no instruction reads them.
@pytest.mark.long
@pytest.mark.parametrize("field", [
    field for field in ALTERED
    # Programs read the memory map.
    if field not in CONDITIONS and not field.startswith("memory_map")
])
def test_every_other_field_changes_the_hardware(field):
    assert hardware(BESIDE.get(field, {}) | altered(field)) != hardware(BESIDE.get(field, {}))
