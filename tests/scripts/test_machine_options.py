"""``--set`` and ``--config`` of every subcommand with a preset, over a stand-in simulator; ``metronome config``."""

import dataclasses
import json
from pathlib import Path

import pytest

from metronome.hdl.presets import BASE, PAPER, TINY
from metronome.sim.machine.settings import FIELDS, replaced, values_of
from tests.scripts.lines import only_line
from tests.sim.machine.test_settings import ALTERED, BESIDE, altered


def settings(name):
    return [word for field, text in (BESIDE.get(name, {}) | {name: ALTERED[name]}).items()
            for word in ("--set", f"{field}={text}")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ALTERED)
def test_set_and_file_reach_the_simulator(metronome, backend, name):
    expected = altered(name)
    assert metronome("run", "psort", *settings(name)).status == 0
    assert metronome("config", *settings(name), "--output", "my.toml").status == 0
    assert metronome("run", "psort", "--config", "my.toml", "--preset", "PAPER").status == 0
    first, second = (config for config, _ in backend.runs)
    if name in ("coordination", "fetch_policies"):
        # A front end with a scheduler of its own for fetch.
        assert first.coordination == expected.coordination and first.fetch_policies == expected.fetch_policies
    assert first == second == expected


def test_every_subcommand_with_a_preset_takes_them(metronome, backend, synthesized):
    Path("my.toml").write_text("latency_mul = 5\n[memory_map]\nuser = 0x2_0000\n")
    arguments = ("--config", "my.toml", "--set", "icache_bytes=4K")
    expected = replaced(BASE, {"latency_mul": 5, "memory_map.user": 0x20000, "icache_bytes": 4096})
    for words in (("run", "psort"), ("sweep", "psort", "--mode", "swas"), ("bench", "--repeat", "1"),
                  ("verilog", "--probe"), ("synth", "--unit", "alu")):
        done = metronome(*words, *arguments)
        assert (done.status, done.err) == (0, ""), words
    assert {config for config, _ in backend.runs} == {expected} and len(backend.runs) == 5
    assert backend.verilog_configs == [expected]
    (one,) = synthesized
    assert one == expected.for_chip(policies=("gtlrr",))


def test_which_wins(metronome, backend):
    Path("my.toml").write_text('warps = 2\nthreads = 2\nlatency_mul = 5\nprediction = "btfn"\npolicies = ["gto"]\n')
    assert metronome("run", "psort", "--config", "my.toml", "--set", "threads=8", "--set", "latency_mul=6",
                     "--threads", "1", "--issue", "LRR").status == 0
    ((config, request),) = backend.runs
    assert (config.warps, config.threads, config.latency_mul, config.prediction) == (2, 1, 6, "btfn")
    assert (config.policies, request.policy) == (("lrr",), "lrr")
    assert metronome("run", "psort", "--config", "my.toml", "--prediction", "not_taken").status == 0
    config, request = backend.runs[-1]
    assert (config.prediction, config.policies, request.policy) == ("not_taken", ("gto",), "gto")


def test_parameters_of_policies(metronome, backend):
    Path("my.toml").write_text("rates = [3, 1]\n")
    metronome("run", "psort", "--config", "my.toml", "--set", "group_warps=4", "--issue", "two_level", status=0)
    ((config, _),) = backend.runs
    assert (config.group_warps, config.rates, config.policies) == (4, (3, 1), ("two_level",))


@pytest.mark.parametrize(("words", "complaint"), [
    (("--set", "rates=0"), "--set rates=0: rates must be above 0 for some warp, not (0,)"),
    (("--set", "rates=1+2+3+4+5"), "rates must be at most one for each warp, of which there are 4, not (1, 2"),
    (("--set", "group_warps=3"), "--set group_warps=3: group_warps must be 0 or a divisor of warps, 4, not 3"),
    (("--set", "rates=1+0", "--issue", "variable_rate_strict"), "rates must be above 0 for every warp with variable"),
])
@pytest.mark.parametrize("command", ["run", "predict", "config", "sweep"])
def test_bad_parameters_of_policies(metronome, backend, command, words, complaint):
    assert complaint in metronome(command, *(["psort"] if command != "config" else []), *words).refusal
    assert not backend.runs


@pytest.mark.parametrize("words", [("--mode", "baseline"), ("--set", "coordination=baseline")])
def test_both_ways_to_a_front_end_are_one_build(metronome, backend, words):
    assert metronome("run", "psort", *words).status == 0
    ((config, request),) = backend.runs
    assert config == dataclasses.replace(
        BASE, coordination=config.coordination.BASELINE, fetch_policies=("lrr", "gtlrr", "gtlo")
    )
    assert (request.fetch_policy, request.policy) == ("lrr", "lrr")


def test_the_result_names_the_machine(metronome):
    Path("my.toml").write_text("latency_mul = 5\n")
    done = metronome("run", "psort", "--set", "icache_bytes=0x1000", "--json", "a.json")
    assert "psort on BASE, icache_bytes=4096 (4 warps x 4 threads)" in done.out
    config = json.loads(Path("a.json").read_text())["config"]
    assert (config["preset"], config["config_file"], config["set"]) == ("BASE", None, {"icache_bytes": "4096"})
    assert config["icache_bytes"] == 4096
    done = metronome("run", "psort", "--config", "my.toml", "--warps", "2")
    assert "psort on my.toml (2 warps x 4 threads)" in done.out


def test_config_shows_every_field(metronome):
    done = metronome("config", "--preset", "tiny", "--set", "memory_map.user=0x20000", status=0)
    for name, field in FIELDS.items():
        assert name in done.out
        assert field.about.split()[-1] in done.out
    assert "0x00020000" in done.out and "34 cycles" in done.out and "TINY, memory_map.user=0x00020000" in done.out
    value = json.loads(metronome("config", "--preset", "TINY", "--json", "-").out)
    assert {row["field"]: row["value"] for row in value}["warps"] == 2
    assert value[0] == {"field": "warps", "value": 2, "unit": "warps", "about": FIELDS["warps"].about}
    assert [row["field"] for row in value] == list(values_of(TINY))


def test_config_on_standard_output_is_the_file(metronome):
    written = metronome("config", "--preset", "PAPER", "-o", "-").out
    assert metronome("config", "--preset", "PAPER", "--output", "my.toml").out == ""
    assert Path("my.toml").read_text() == written
    assert metronome("config", "--config", "my.toml", "-o", "-").out == written
    # The file that was read may be written.
    assert metronome("config", "--config", "my.toml", "--set", "warps=4", "-o", "my.toml").status == 0
    assert "\nwarps = 4\n" in Path("my.toml").read_text()


def test_a_sweep_over_fields(metronome, backend):
    done = metronome("sweep", "psort", "--set", "icache_bytes=1024,4K", "--set", "warps=2,4", "--set", "latency_mul=5")
    assert done.status == 0, done.err
    assert [(config.icache_bytes, config.warps) for config, _ in backend.runs] == [
        (1024, 2), (1024, 4), (4096, 2), (4096, 4),
    ]
    assert {(config.latency_mul, config.coordination, request.policy) for config, request in backend.runs} == {
        (5, "swas", "lrr"),
    }
    rows = [line.split() for line in done.out.splitlines()]
    assert ["icache_bytes", "warps", "cycles", "IPC", "rel.", "NOPs", "discr.", "errors"] in rows
    assert ["4096", "2", "500", "3.0000", "1.000", "8.00", "%", "14.00", "%", "5.00", "%"] in rows
    assert "psort on BASE, latency_mul=5, size 64" in done.out


def test_a_wide_table_of_a_sweep_is_whole(metronome, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = metronome("sweep", "psort", "--set", "memory_map.stack_bytes_per_hart=4K,8K", "--set", "dcache_bytes=0,16K",
                     "--mode", "baseline,swas", "--issue", "gtlrr,gto_dispatch")
    row = ["8192", "16384", "baseline", "lrr", "gto_dispatch", "500", "3.0000", "1.000", "8.00", "%", "14.00", "%"]
    assert row in [line.split()[:12] for line in done.out.splitlines()]
    assert "memory_map.stack_bytes_per_hart" in done.out and "…" not in done.out


@pytest.mark.parametrize("name", [name for name in ALTERED if name != "schedulers"])  # test_cli_schedulers.py
def test_a_sweep_takes_any_field(metronome, backend, name):
    beside = [word for field, text in BESIDE.get(name, {}).items() for word in ("--set", f"{field}={text}")]
    usual = {"policies": "lrr+gtlrr+gtlo", "fetch_policies": "lrr", "rates": ""}.get(name, str(values_of(BASE)[name]))
    metronome("sweep", "psort", *beside, "--set", f"{name}={usual},{ALTERED[name]}", status=0)
    held = list(dict.fromkeys(values_of(config)[name] for config, _ in backend.runs))
    assert len(held) == 2 and held[1] == values_of(altered(name))[name]


def test_lists_of_a_sweep_that_varies_fields(metronome, backend):
    assert metronome("sweep", "psort", "--set", "warps=2,4", "--mode", "swas,baseline", "--issue", "lrr").status == 0
    assert [(config.warps, config.coordination) for config, _ in backend.runs] == [
        (2, "swas"), (2, "baseline"), (4, "swas"), (4, "baseline"),
    ]


def test_a_sweep_of_a_machine_with_a_front_end(metronome, backend):
    assert metronome("sweep", "psort", "--set", "coordination=vortex", "--set", "policies=gto+lo").status == 0
    assert [(config.coordination, request.fetch_policy, request.policy) for config, request in backend.runs] == [
        ("vortex", "fixed", "gto"), ("vortex", "fixed", "lo"),
    ]


def test_verilog_takes_what_synth_takes(metronome, backend, synthesized):
    arguments = ("--mode", "Baseline", "--fetch", "gtlo", "--issue", "GTO", "--prediction", "BTFN", "--preset", "tiny")
    assert metronome("verilog", *arguments).status == metronome("synth", "--unit", "SM", *arguments).status == 0
    assert backend.verilog_configs == synthesized
    (config,) = synthesized
    assert (config.coordination, config.fetch_policies, config.policies, config.prediction) == (
        "baseline", ("gtlo",), ("gto",), "btfn",
    )


def test_verilog_keeps_what_set_names(metronome, backend):
    assert metronome("verilog", "--set", "assertions=true").status == 0
    (config,) = backend.verilog_configs
    assert (config.probe, config.assertions, config.oracles) == (False, True, False)


#: Mistakes in a configuration, and a word of the line. ``{}`` is a file with this text.
MISTAKES = [
    (("--set", "icache_byte=4096"), "icache_byte' (did you mean icache_bytes?)"),
    (("--set", "user=0x20000"), "(did you mean memory_map.user?)"),
    (("--set", "icache_bytes"), "--set icache_bytes: write FIELD=VALUE"),
    (("--set", "=4"), "--set =4: write FIELD=VALUE"),
    (("--set", "icache_bytes="), "icache_bytes must be a whole number, not ''"),
    (("--set", "icache_bytes=big"), "icache_bytes must be a whole number, not 'big'"),
    (("--set", "icache_bytes=1000"), "--set icache_bytes=1000: icache_bytes must be 0 or a power of two"),
    (("--set", "warps=65"), "--set warps=65: warps must be between 1 and 64, not 65"),
    (("--set", "threads=3"), "threads must be a power of two between 1 and 32, not 3 (the nearest are 2 and 4)"),
    (("--set", "warps=2,4"), "only metronome sweep takes several values"),
    (("--set", "warps=2", "--set", "warps=4"), "a field is set twice"),
    (("--set", "latency_alu=2"), "latency_alu must be 1, not 2"),
    (("--set", "latency_div=2"), "latency_div must be between 34 and 40, not 2"),
    (("--set", "icache_ways=512"), "configuration: icache_bytes must be 0 or a power of two of at least two sets"),
    (("--set", "probe=maybe"), "probe must be one of true, false, not 'maybe'"),
    (("--set", "coordination=swass"), "coordination must be one of swas, baseline, vortex, not 'swass' (did you"),
    (("--set", "prediction=gshare"), "prediction must be one of not_taken, btfn, private, not 'gshare'"),
    (("--set", "policies=lrr+gtrr"), "'gtrr' (did you mean gtlrr?)"),
    (("--set", "policies="), "policies must be a non-empty tuple, not ()"),
    (("--set", "policies=lrr+lrr"), "policies must be free of repeats"),
    (("--set", "fetch_policies=lrr"), "fetch_policies must be empty"),
    (("--set", "core_id=1"), "core_id must be below cores, not 1"),
    (("--set", "memory_map=4"), "memory_map is set by its parts: memory_map.start"),
    (("--set", "memory_map.user=0x10001"), "memory_map.user must be a multiple of line_bytes, not 65537"),
    (("--set", "memory_map.end=0x1000"), "memory_map."),
    (("--set", "probe=false", "--check"), "--check needs the probe"),
    (("--config", "missing.toml"), "--config: cannot read 'missing.toml': No such file"),
    (("--config", "."), "--config: cannot read '.': it is a folder"),
    (("--config", "{warps 4}"), "--config my.toml: not TOML: "),
    (("--config", "{warps = 4\nwarps = 5}"), "--config my.toml: line 2: warps is set twice, also in line 1"),
    (("--config", "{# warps = 1\n[memory_map]\nuser=1\n\n user = 2\nlocal = 3\n}"),
     "--config my.toml: line 5: memory_map.user is set twice, also in line 3"),
    (("--config", "{policies = [\n'lrr',\n]\npolicies = [\n'gto'\n]\n}"), ("line 4: policies is set twice, also in "
                                                                          "line 1")),
    (("--config", "{[memory_map]\nuser=1\n[ memory_map ]\nlocal=2}"), ("line 3: [memory_map] is there twice, also in "
                                                                      "line 1")),
    (("--config", "{warps = 4\nthreads 4\nwarps = 5}"), "--config my.toml: not TOML: "),
    (("--config", "{memory_map.user = 4\nmemory_map = 5}"), "--config my.toml: not TOML: "),
    (("--config", "{wraps = 4}"), "--config my.toml: unknown field 'wraps' (did you mean warps?)"),
    (("--config", '{warps = "4"}'), "--config my.toml: warps must be a whole number, not '4'"),
    (("--config", "{warps = 4.0}"), "--config my.toml: warps must be a whole number, not 4.0"),
    (("--config", "{warps = 0}"), "--config my.toml: warps must be between 1 and 64, not 0"),
    (("--config", '{policies = "lrr"}'), "--config my.toml: policies must be a tuple of names, not 'lrr'"),
    (("--config", '{policies = ["lrr", "rr"]}'), "policies must be one of fixed, lrr, "),
    (("--config", "{[memory_map]\nusr = 4}"), "'memory_map.usr' (did you mean memory_map.user?)"),
    (("--config", "{[memory]\nuser = 4}"), ("unknown table [memory] (did you mean memory_map?): the only table is "
                                           "[memory_map")),
    (("--config", "{[memory_mpa]\nuser = 4}"), "my.toml: unknown table [memory_mpa] (did you mean memory_map"),
    (("--config", "{[cache]\nsize = 4}"), "--config my.toml: unknown table [cache]: the only table is [memory_map]"),
    (("--config", "{[warps]\nsize = 4}"), "--config my.toml: warps must be a whole number, not {"),
    (("--set", "dcache_bytes=1000"), "not 1000 (the nearest are 512 and 1024)"),
    (("--set", "icache_bytes=100"), "not 100 (the nearest are 0 and 512)"),
    (("--config", "{dcache_bytes = 3000}"), "not 3000 (the nearest are 2048 and 4096)"),
    (("--set", "dcache_bytes=3G"), "(the nearest is 16777216)"),
    (("--set", "threads=33"), "between 1 and 32, not 33 (the nearest is 32)"),
    (("--set", "load_parts=-5"), "not -5 (the nearest is 2)"),
    (("--config", "{probe = 1}"), "--config my.toml: probe must be True or False, not 1"),
    (("--preset", "TYNI"),
     "--preset: unknown name 'TYNI' (did you mean TINY?): use TINY, BASE, MID, PAPER, ULX3S, NANO"),
]


@pytest.mark.parametrize(("arguments", "word"), MISTAKES, ids=[" ".join(words) for words, _ in MISTAKES])
def test_a_mistake_is_one_line_and_nothing_runs(metronome, backend, tmp_path, arguments, word):
    if arguments[1].startswith("{"):
        (tmp_path / "my.toml").write_text(arguments[1][1:-1])
        arguments = ("--config", "my.toml")
    before = sorted(tmp_path.iterdir())
    done = metronome("run", "psort", *arguments)
    assert (done.status, done.out) == (2, "")
    line = only_line(done.err)
    assert line.startswith("metronome: ") and word in line
    assert backend.runs == [] and sorted(tmp_path.iterdir()) == before
    if "--check" not in arguments:
        done = metronome("config", *arguments, "--output", "new.toml")
        assert (done.status, done.out, sorted(tmp_path.iterdir())) == (2, "", before)


def test_a_file_that_is_no_text(metronome, tmp_path):
    (tmp_path / "my.toml").write_bytes(b"\xff\xfe\x00")
    assert only_line(metronome("config", "--config", "my.toml").err).endswith("it is not text in UTF-8")


def test_the_file_is_no_output(metronome, tmp_path):
    (tmp_path / "mine").write_text("warps = 2\n")
    for words in (("run", "psort", "--json", "mine"), ("run", "psort", "--dump", "target=mine"),
                  ("verilog", "--output", "mine"), ("sweep", "psort", "--json", "mine"),
                  ("synth", "--unit", "alu", "--json", "mine"), ("bench", "--json", "mine")):
        done = metronome(*words, "--config", "mine")
        assert done.status == 2 and "is already the file of --config" in done.err
    assert (tmp_path / "mine").read_text() == "warps = 2\n"


@pytest.mark.parametrize("words", [
    ("run", "psort", "--json", "out"), ("run", "psort", "--dump", "target=out"), ("run", "--elf", "out"),
    ("run", "psort", "--config", "out"), ("sweep", "psort", "--json", "out"), ("bench", "--json", "out"),
    ("sweep", "psort", "--config", "out"),
])
def test_the_waves_are_no_other_file(metronome, backend, monkeypatch, tmp_path, words):
    monkeypatch.setenv("METRONOME_WAVES", "./out")
    (tmp_path / "out").write_text("warps = 2\n")
    done = metronome(*words)
    assert (done.status, done.out, backend.runs) == (2, "", [])
    assert only_line(done.err).startswith("metronome: METRONOME_WAVES: out is already the file of --")
    assert (tmp_path / "out").read_text() == "warps = 2\n"
    assert metronome("run", "psort", "--json", "other").status == 0


def test_paper_is_what_a_file_need_not_say(metronome, backend):
    Path("my.toml").write_text("latency_mul = 5\n")
    assert metronome("run", "psort", "--config", "my.toml", "--preset", "PAPER").status == 0
    assert backend.runs[0][0] == dataclasses.replace(PAPER, latency_mul=5)
