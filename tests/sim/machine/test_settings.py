"""The fields of a configuration as text: every field, both ways, and what is refused."""

import dataclasses

import pytest

from metronome.hdl.config import MemoryMap, Prediction, SmConfig
from metronome.hdl.presets import BASE, PRESETS
from metronome.sim.machine import settings

OTHER_PREDICTION = next(name for name in Prediction if name is not BASE.prediction)
#: A value of each field that is not the one of BASE, as --set takes it. The others have but one value.
ALTERED = {
    "warps": "6", "threads": "8", "schedulers": "2", "units": "shared", "turns": "older", "alu_ports": "1",
    "writeback_ports": "1",
    "policies": "gto+lrr", "fetch_policies": "gtlo", "coordination": "baseline",
    "prediction": OTHER_PREDICTION, "icache_bytes": "4K", "icache_ways": "2", "icache_mshrs": "2", "latency_mul": "5",
    "issue_latency": "3", "lookup_latency": "2", "fpu": "false", "research_counters": "false",
    "latency_div": "35", "latency_fma": "5", "latency_fcvt": "6", "latency_fdiv": "17", "latency_fmisc": "3",
    "local_bytes": "8192", "dcache_bytes": "0", "dcache_ways": "1", "dcache_mshrs": "6", "store_buffer": "12",
    "load_parts": "4", "interleave_stacks": "false", "core_id": "1", "cores": "2", "check_divergent_branch": "False",
    "all_counters": "false", "oracles": "false", "probe": "false", "assertions": "false",
    "group_warps": "1", "rates": "3+1", "locality_base": "7", "locality_throttle": "2", "victim_tags": "3",
    "policy_csr": "true",
    "return_stack": "8", "jump_targets": "4", "branch_runs": "16", "two_bit": "4",
    "channels": "free", "channel_depth": "3",
    "memory_map.start": "0x8000_1000", "memory_map.console": "0xC0", "memory_map.console_bytes": "32",
    "memory_map.counter_dump": "0x90", "memory_map.exit_code": "0x98", "memory_map.user": "0x20000",
    "memory_map.local": "0xFFFE0000", "memory_map.stack_top": "0xFFFD0000", "memory_map.stack_bytes_per_hart": "4K",
    "memory_map.first": "0x80", "memory_map.end": "0xFFFF8000",
}
#: What a field needs beside it to be allowed, or to have an effect.
BESIDE = {
    "fetch_policies": {"coordination": "baseline"}, "core_id": {"cores": "2"},
    "units": {"schedulers": "2"}, "turns": {"schedulers": "2"},
    **{name: {"schedulers": "2", "units": "shared"} for name in ("alu_ports", "writeback_ports")},
    "memory_map.local": {"memory_map.stack_top": "0xFFFD0000"},
    "memory_map.end": {"memory_map.stack_top": "0xFFFD0000"},
    **{name: {"prediction": "private"} for name in ("return_stack", "jump_targets", "branch_runs", "two_bit")},
    "group_warps": {"policies": "two_level"}, "rates": {"policies": "variable_rate"},
    **{name: {"policies": "ccws"} for name in ("locality_base", "locality_throttle", "victim_tags")},
    "channel_depth": {"channels": "free"},
}
FIXED = {"fetch_latency": "4", "line_bytes": "128", "latency_alu": "2", "latency_csr": "2", "latency_simt": "2"}


def altered(name):
    texts = BESIDE.get(name, {}) | {name: ALTERED[name]}
    return settings.replaced(BASE, {field: settings.parse(field, text) for field, text in texts.items()})


def test_the_fields_are_those_of_the_dataclasses():
    own = [field.name for field in dataclasses.fields(SmConfig) if field.name != "memory_map"]
    assert set(settings.FIELDS) == {*own, *(f"memory_map.{field.name}" for field in dataclasses.fields(MemoryMap))}
    assert set(ALTERED) | set(FIXED) == set(settings.FIELDS)


@pytest.mark.parametrize("name", settings.FIELDS)
def test_every_field_is_described(name):
    field = settings.FIELDS[name]
    assert len(field.about) > 5 and "[" not in field.about and "#" not in field.about
    if name.endswith(("_bytes", "_bytes_per_hart")):
        assert field.unit == "bytes"
    if name.startswith(("latency", "fetch_latency")):
        assert field.unit == "cycles"


def test_the_description_has_unit_and_meaning():
    division = settings.FIELDS["latency_div"]
    assert (division.unit, division.about) == ("cycles", "divisions; not pipelined")
    about = settings.FIELDS["icache_bytes"].about
    assert about.startswith("0: no I-cache; every warp keeps") and about.endswith("for each other one.")


@pytest.mark.parametrize("name", ALTERED)
def test_a_value_reaches_its_field_and_no_other(name):
    before, after = settings.values_of(BASE), settings.values_of(altered(name))
    assert after[name] == settings.parse(name, ALTERED[name]) != before[name]
    also = {"coordination": {"fetch_policies"}, "fetch_policies": {"coordination"}}.get(name, set())
    assert {field for field in settings.FIELDS if before[field] != after[field]} == {name, *BESIDE.get(name, ()), *also}


@pytest.mark.parametrize("name", FIXED)
def test_a_field_with_one_value_is_refused_by_its_own_message(name):
    assert settings.replaced(BASE, {name: getattr(BASE, name)}) == BASE
    with pytest.raises(settings.ConfigError, match=rf"^{name} must be \d+, not {FIXED[name]}$"):
        settings.replaced(BASE, {name: settings.parse(name, FIXED[name])})


@pytest.mark.parametrize("name", ALTERED)
def test_a_file_of_it_reads_back(name):
    config = altered(name)
    assert settings.replaced(PRESETS["PAPER"], settings.from_toml(settings.to_toml(config))) == config
    texts = {field: settings.as_text(field, value) for field, value in settings.values_of(config).items()}
    assert settings.replaced(BASE, {field: settings.parse(field, text) for field, text in texts.items()}) == config


def test_a_file_tells_every_field():
    text = settings.to_toml(BASE)
    assert all(f"\n{name.rpartition('.')[2]} = " in text for name in settings.FIELDS)
    assert "\n# [cycles] divisions; not pipelined\nlatency_div = 34\n" in text
    assert "start = 0x80000000\n" in text


def test_a_scheme_has_its_usual_fetch_policies():
    assert settings.replaced(BASE, {"coordination": "baseline"}).fetch_policies == BASE.policies
    assert settings.replaced(BASE, {"coordination": "vortex"}).fetch_policies == ("fixed",)
    assert settings.replaced(BASE, {"coordination": "baseline", "policies": ["gto"]}).fetch_policies == ("lrr",)
    baseline = settings.replaced(BASE, {"coordination": "baseline"})
    assert settings.replaced(baseline, {"coordination": "swas"}) == BASE


@pytest.mark.parametrize(("name", "text", "value"), [
    ("warps", " 8 ", 8), ("icache_bytes", "0x400", 1024), ("icache_bytes", "1K", 1024),
    ("dcache_bytes", "64KiB", 65536),
    ("memory_map.user", "0x1_0000", 65536), ("probe", "TRUE", True), ("coordination", "SWAS", "swas"),
    ("fetch_policies", "", ()), ("policies", "LRR+gtlo", ("LRR", "gtlo")),
])
def test_values(name, text, value):
    assert settings.parse(name, text) == value


@pytest.mark.parametrize(("name", "text", "message"), [
    ("warp", "4", r"unknown field 'warp' \(did you mean warps\?\): metronome config lists the fields"),
    ("user", "4", r"unknown field 'user' \(did you mean memory_map\.user\?\): metronome config lists the fields"),
    ("zzz", "4", "unknown field 'zzz': metronome config lists the fields"),
    ("memory_map", "4", r"memory_map is set by its parts: memory_map\.start, .*"),
    ("warps", "4K", "warps must be a whole number, not '4K'"),
    ("warps", "2.0", "warps must be a whole number, not '2.0'"),
    ("warps", "", "warps must be a whole number, not ''"),
    ("probe", "yes", "probe must be one of true, false, not 'yes'"),
    ("prediction", "bftn", r"prediction must be one of not_taken, btfn, private, not 'bftn' \(did you mean btfn\?\)"),
    ("rates", "3,1", r"rates: write numbers with \+ between them, e\.g\. 3\+1, not '3,1'"),
    ("rates", "3+x", r"rates must be a whole number, not 'x'"),
    ("policies", "lrr,gtlo", r"policies: write names with \+ between them, e\.g\. lrr\+gtlo, not 'lrr,gtlo'"),
])
def test_what_is_refused(name, text, message):
    with pytest.raises(settings.ConfigError, match=rf"^{message}$"):
        settings.parse(name, text)


@pytest.mark.parametrize(("values", "message"), [
    ({"policies": ("gtrr",)}, r"policies must be one of fixed, .*, not 'gtrr' \(did you mean gtlrr\?\)"),
    ({"icache_ways": 256},
     r"icache_bytes must be 0 or a power of two of at least two sets .*, not 16384 \(the nearest are 0 and 32768\)"),
    ({"memory_map.user": 65537}, r"memory_map\.user must be a multiple of line_bytes, not 65537"),
    ({"memory_map.user": -64}, r"memory_map\.user must be between 0 and 0x100000000, not -64"),
    ({"memory_map.start": "x"}, r"memory_map\.start must be a whole number, not 'x'"),
    ({"local_bytes": 1 << 17}, r"memory_map\.local must be a multiple of local_bytes, not 4294901760"),
    ({"memory_map.start": 6}, r"memory_map\.start must be a multiple of 4, not 6"),
    ({"memory_map.first": 1 << 32}, r"memory_map\.first must be below memory_map\.end, not 4294967296"),
    ({"memory_map.console": 0x50}, r"memory_map\.console_bytes must be between 1 and 48, within the .*, not 64"),
])
def test_a_configuration_that_cannot_be(values, message):
    with pytest.raises(settings.ConfigError, match=rf"^{message}$"):
        settings.replaced(BASE, values)


@pytest.mark.parametrize(("text", "message"), [
    ("warps = ", r"not TOML: .*"),
    ("dcache_bytes = 16K", r"not TOML: .* \(write 16384 for 16K, which only --set takes\)"),
    ("wraps = 4", r"unknown field 'wraps' \(did you mean warps\?\).*"),
    ("[memory_map]\nuser_ = 4", r"unknown field 'memory_map\.user_' \(did you mean memory_map\.user\?\).*"),
    ("[cache]\nways = 4", r"unknown table \[cache\]: the only table is \[memory_map\]"),
    ("memory_map = 4", "memory_map is set by its parts.*"),
])
def test_a_file_that_is_none(text, message):
    with pytest.raises(settings.ConfigError, match=rf"^{message}$"):
        settings.from_toml(text)


def test_near_names():
    assert settings.near("PSROT", ["vecadd", "psort"]) == " (did you mean psort?)"
    assert settings.near("", ["vecadd"]) == settings.near("xyz", ["vecadd"]) == ""
