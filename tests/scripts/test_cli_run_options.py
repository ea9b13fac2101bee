"""`metronome run`: what its options may be, and what becomes of wrong ones, with a stand-in simulator."""

import json

import pytest

from tests.scripts.lines import only_line


@pytest.mark.parametrize(
    "arguments",
    [
        (), ("psort", "--elf", "there"), ("--elf", "there", "--bin", "there"),
        ("psort", "--warps", "0"), ("psort", "--threads", "3"), ("psort", "--warps", "many"), ("psort", "--warps"),
        ("psort", "--preset", "HUGE"), ("psort", "--issue", "fifo"), ("psort", "--issue", ""),
        ("psort", "--mode", "else"), ("psort", "--mode", "baseline", "--fetch", "else"),
        ("psort", "--fetch", "lrr"), ("psort", "--prediction", "gshare"), ("psort", "--memory", "core"),
        ("psort", "--timing", "DDR4_2400R"), ("psort", "--memory", "random", "--memory-clock", "2"),
        ("psort", "--memory", "dram", "--timing", "DDR3"), ("psort", "--memory", "dram", "--memory-clock", "fast"),
        ("psort", "--memory", "tdm", "--memory-clock", "0"), ("psort", "--memory", "tdm", "--memory-clock", "1/0"),
        ("psort", "--memory", "dram", "--memory-clock", "1e999999999"), ("psort", "--memory", "tdm", "--latency", "7"),
        ("psort", "--memory", "dram", "--memory-clock", " 2"), ("psort", "--memory", "dram", "--memory-clock", "1_0"),
        ("psort", "--memory", "dram", "--memory-clock", "65"), ("psort", "--memory", "dram", "--memory-clock", "-1"),
        ("psort", "--type", "int8"),
        ("psort", "--size", "0"), ("psort", "--latency", "0"), ("psort", "--max-cycles", "-1"),
        ("psort", "--seed", "x"), ("psort", "--seed", "-1"), ("--elf", "there", "--seed", "-1"),
        ("psort", "--latency", 2**64 - 1), ("psort", "--max-cycles", 2**64), ("--elf", ""), ("--elf", "/dev/zero"),
        ("--bin", "/dev/zero"), ("--elf", "there", "--arg", "/dev/zero"), ("psort", "--dump", "0x1000:0x10000001=x"),
        ("psort", "--arg", "there"), ("psort", "more"), ("psort", "--unknown"),
        ("unknown",), ("--elf", "missing"), ("--elf", "."), ("--bin", "missing"),
        ("--elf", "there", "--arg", "missing"),
        ("--elf", "there", "--type", "int32"), ("--bin", "there", "--size", "4"),
        ("psort", "--json", "missing/a"), ("psort", "--json", "."), ("psort", "--json", ""),
        ("psort", "--dump", "target=missing/a"), ("psort", "--dump", "nothing=a"), ("psort", "--dump", "target"),
    ],
)  # fmt: skip
def test_bad_use_is_one_line_and_status_2_and_nothing_runs(metronome, backend, tmp_path, arguments):
    (tmp_path / "there").touch()
    assert metronome("run", *arguments).refusal.startswith("metronome: ")
    assert backend.runs == []
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("psort", "--seed", "-1"), "--seed must be at least 0, not -1"),
        (("psort", "--latency", "1000001"), "--latency must be at most 1000000, not 1000001"),
        (("psort", "--latency", "0"), "--latency must be at least 1, not 0"),
        (("psort", "--max-cycles", 2**62 + 1), f"--max-cycles must be at most {2**62}, not {2**62 + 1}"),
        (("--elf", ""), "--elf: the name of the file is empty"),
        (("--elf", "/dev/zero"), "--elf: cannot read '/dev/zero': it is not a regular file"),
        (("--elf", "."), "--elf: cannot read '.': it is a folder"),
        (("psort", "--warps", "many"), "Invalid value 'many' for '--warps': "),
        (("psort", "--seed=1.5"), "Invalid value '1.5' for '--seed': "),
        (("psort", "--dump", "-4:4=x"), "--dump -4:4=x: ADDR must be at least 0, not -4"),
    ],
)
def test_a_complaint_names_the_option_and_the_value(metronome, arguments, complaint):
    assert only_line(metronome("run", *arguments).err).startswith(f"metronome: {complaint}")


@pytest.mark.parametrize(
    "arguments",
    [
        ("psort", "--dump", "target=there", "--json", "there"), ("psort", "--dump", "target=x", "--json", "./x"),
        ("psort", "--dump", "target=x", "--dump", "table=./x"), ("--elf", "there", "--json", "there"),
        ("--bin", "there", "--dump", "0x11000:4=there"), ("--bin", "there", "--arg", "link", "--json", "there"),
        ("--elf", "there", "--dump", "0x11000:4=link"), ("psort", "--json", "/dev/stdout"),
        ("psort", "--dump", "target=/dev/stdout", "--json", "-"),
    ],
)
def test_an_output_that_is_another_file_is_refused(metronome, backend, tmp_path, arguments):
    (tmp_path / "there").write_bytes(b"old")
    (tmp_path / "link").hardlink_to(tmp_path / "there")
    assert "is already the file of " in metronome("run", *arguments).refusal
    assert (backend.prepared, backend.runs) == ([], [])
    assert (tmp_path / "there").read_bytes() == b"old"


def test_the_null_device_is_no_other_file(metronome):
    done = metronome("run", "psort", "--dump", "target=/dev/null", "--dump", "table=/dev/null", "--json", "/dev/null")
    assert (done.status, done.err) == (0, "")


def test_the_greatest_numbers_are_taken(metronome, backend):
    done = metronome("run", "psort", "--latency", 1_000_000, "--max-cycles", 2**62, "--seed", 0)
    assert (done.status, done.err) == (0, "")
    assert len(backend.runs) == 1


@pytest.mark.parametrize(("arguments", "expected"), [
    ((), ("swas", ("lrr", "gtlrr", "gtlo"), (), "lrr", None)),
    (("--issue", "gto"), ("swas", ("gto",), (), "gto", None)),
    (("--mode", "baseline"), ("baseline", ("lrr", "gtlrr", "gtlo"), ("lrr", "gtlrr", "gtlo"), "lrr", "lrr")),
    (("--mode", "baseline", "--fetch", "gtlo", "--issue", "gtlrr"),
     ("baseline", ("lrr", "gtlrr", "gtlo"), ("lrr", "gtlrr", "gtlo"), "gtlrr", "gtlo")),
    (("--mode", "vortex"), ("vortex", ("lrr", "gtlrr", "gtlo"), ("fixed",), "lrr", "fixed")),
])
def test_the_scheme_and_its_policies(metronome, backend, arguments, expected):
    assert metronome("run", "psort", *arguments).status == 0
    (config, request), = backend.runs
    found = (config.coordination, config.policies, config.fetch_policies, request.policy, request.fetch_policy)
    assert found == expected


def test_how_a_program_is_compiled_and_when_it_is_stopped(metronome, tmp_path):
    names = ("cflags", "function", "no_simt", "max_cycles")
    options = ("--cflags", "-DN='2 3' -O1", "--no-simt", "--max-cycles", "700")

    def asked(*arguments):
        config = json.loads(metronome("run", *arguments, "--json", "-").out)["config"]
        return [config[name] for name in names]

    assert asked("psort", *options) == ["'-DN=2 3' -O1", None, True, 700]
    assert asked("psort") == ["", None, False, 10_000_000]
    image = tmp_path / "program.elf"
    image.write_bytes(b"\x7fELF")
    assert asked(image) == [None, None, None, 10_000_000]
