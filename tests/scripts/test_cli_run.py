"""`metronome run` with a stand-in simulator: what reaches it, and what becomes of each way a run can end."""

import dataclasses
import json
from fractions import Fraction
from pathlib import Path

import pytest

from metronome.hdl.config import Prediction
from metronome.hdl.layouts.counters import COUNTERS, StallReason
from metronome.hdl.presets import BASE, MID, PAPER
from metronome.scripts.cli import main
from metronome.sim.machine.memory.registry import MemoryOptions
from metronome.sim.machine.statistics import REASONS, WarpCycles
from metronome.sim.run.types import RunResult, WarpState
from tests.scripts.lines import only_line

#: docs/command-line.md, "JSON of metronome run".
RUN_FIELDS = {
    "kernel", "config", "passed", "exit_code", "fault", "cycles", "total_cycles", "committed", "committed_threads",
    "ipc", "nops", "discrepancies", "errors", "error_rate", "icache_misses", "dcache_misses", "taken_branches",
    "loads", "load_wait_cycles", "stalls", "sim_seconds", "cycles_per_second", "build_seconds",
}


def test_the_options_reach_the_simulator(metronome, backend):
    metronome(
        "run", "psort", "--preset", "MID", "--warps", 3, "--threads", 2, "--mode", "swas", "--issue", "gtlo",
        "--type", "int32", "--memory", "random", "--latency", 7, "--size", 12, "--seed", 5, "--check",
        "--max-cycles", 999, "--prediction", "not_taken", status=0,
    )
    ((config, request),) = backend.runs
    assert config == dataclasses.replace(MID, warps=3, threads=2, prediction=Prediction.NOT_TAKEN)
    assert backend.prepared == [("psort", {"dtype": "int32", "size": 12, "seed": 5})]
    asked = (request.policy, request.memory, request.latency, request.seed, request.check, request.max_cycles)
    assert asked == ("gtlo", "random", 7, 5, True, 999)


@pytest.mark.parametrize("memory", ["dram", "tdm"])
def test_the_options_of_a_dram(metronome, backend, memory):
    statistics = {"reads": 1234, "writes": 567, "latency_mean": 45.678}
    backend.update(memory_statistics=statistics, python_seconds=0.125)
    done = metronome("run", "psort", "--memory", memory, "--timing", "DDR4_3200AA", "--memory-clock", "3/2", status=0)
    assert f"{memory}, DDR4_3200AA, clock ratio 3/2" in done.out
    assert {"1234", "567", "45.7"} <= set(done.out.split())
    value = json.loads(metronome("run", "psort", "--memory", memory, "--memory-clock", "1.5", "--json", "-").out)
    assert [request.memory_options for _, request in backend.runs] == [
        MemoryOptions(timing="DDR4_3200AA", clock=Fraction(3, 2)), MemoryOptions(clock=Fraction(3, 2)),
    ]
    asked = {name: value["config"][name] for name in ("memory", "latency", "timing", "memory_clock")}
    assert asked == {"memory": memory, "latency": None, "timing": "DDR4_2400R", "memory_clock": "3/2"}
    assert (value["memory_statistics"], value["python_share"]) == (statistics, 0.25)


def test_a_memory_that_is_no_dram(metronome):
    value = json.loads(metronome("run", "psort", "--json", "-").out)
    assert [value["config"][name] for name in ("latency", "timing", "memory_clock")] == [20, None, None]
    assert value["memory_statistics"] is None


def test_the_defaults(metronome, backend):
    assert metronome("run", "psort").status == 0
    ((config, request),) = backend.runs
    assert config == BASE
    assert (request.policy, request.memory, request.check) == ("lrr", "fixed", False)


def test_the_table_shows_what_was_measured(metronome):
    done = metronome("run", "psort", "--preset", "PAPER")
    words = done.out.split()
    assert done.err == ""
    assert "passed" in words
    assert {"500", "400", "40", "50", "10", "1500", "3.000", "700", "1400"} <= set(words)
    assert {"80.0", "8.0", "10.0", "2.0"} <= set(words), "percentages of the 500 cycles"
    assert f"({PAPER.warps} warps x {PAPER.threads} threads)" in done.out


def test_the_json_is_the_one_of_the_design(metronome):
    done = metronome("run", "psort", "--seed", 4, "--json", "out.json")
    with open("out.json") as file:
        value = json.load(file)
    assert set(value) >= RUN_FIELDS
    assert "passed" in done.out, "with a file, the table still goes to standard output"
    assert (value["kernel"], value["passed"], value["exit_code"], value["fault"]) == ("psort", True, 0, None)
    assert (value["cycles"], value["total_cycles"]) == (500, 700)
    assert value["committed"] + value["nops"] + sum(value["stalls"].values()) == value["cycles"]
    assert value["ipc"] == pytest.approx(1500 / 500)
    assert set(value["stalls"]) == {reason.name.lower() for reason in StallReason if reason}
    assert (value["discrepancies"], value["errors"], value["error_rate"]) == (70, 25, pytest.approx(25 / 500))
    assert value["dcache_misses"] == 4
    assert value["cycles_per_second"] == pytest.approx(1400)
    expected = {"preset": "BASE", "mode": "swas", "issue": "lrr", "memory": "fixed", "seed": 4, "warps": 4}
    assert {name: value["config"][name] for name in expected} == expected


def test_the_json_has_every_counter(metronome):
    value = json.loads(metronome("run", "psort", "--json", "-").out)
    assert {counter.name for counter in COUNTERS} <= set(value)
    assert (value["committed_threads"], value["nops"], value["loads"], value["load_wait_cycles"]) == (1500, 40, 20, 60)


def test_a_mismatch_before_the_end_has_counted_nothing(metronome, backend):
    memory = backend.result.memory
    backend.result = RunResult(status="mismatch", exit_code=0, total_cycles=12, memory=memory, mismatches=["warp 1"])
    done = metronome("run", "psort", "--json", "out.json")
    value = json.loads(Path("out.json").read_text())
    assert (done.status, value["cycles"], value["committed"], sum(value["stalls"].values())) == (1, None, 0, 0)


def test_the_json_has_the_statistics_of_the_region(metronome, backend):
    value = json.loads(metronome("run", "psort", "--json", "-").out)
    assert value["lines"]["loads"] == {
        "instructions": 18, "accesses": 27, "uncached": 2, "hits": 13, "merges": 5, "forwards": 3, "misses": 4,
    }
    assert value["lines"]["stores"] == {"instructions": 2, "accesses": 4, "uncached": 0, "hits": 1, "merges": 3}
    assert value["lines"]["waits"] == {"mshr": 17, "parts": 0, "order": 0, "buffer": 0, "fill": 0, "writeback": 0}
    assert value["coalescing"] == {"lines_per_load": 1.5, "lines_per_store": 2.0}
    assert value["load_latency"] == {
        "count": 18, "mean": pytest.approx(123 / 18), "max": 33, "histogram": {"4": 12, "16": 5, "32": 1},
    }
    assert [warp["warp"] for warp in value["warps"]] == [0, 1]
    for warp in value["warps"]:
        parts = ("instructions", "nops", "not_selected", "inactive")
        assert sum(warp[name] for name in parts) + sum(warp["stalls"].values()) == value["cycles"]
    assert value["warps"][1]["stalls"]["load"] == 50
    backend.update(region=None)
    value = json.loads(metronome("run", "psort", "--json", "-").out)
    names = ("dcache_misses", "lines", "coalescing", "load_latency", "warps")
    assert [value[name] for name in names] == [None] * 5
    assert metronome("run", "psort", "--per-warp").status == 0


def test_the_table_shows_the_lines_and_the_latency(metronome, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = metronome("run", "psort").out
    assert {"1.50", "2.00", "13", "48.1", "33", "6.8,", "17"} <= set(out.split())
    assert "every warp" not in out
    out = metronome("run", "psort", "--per-warp").out
    assert max(map(len, out.splitlines())) <= 80
    rows = [line.split() for line in out.split("every warp")[1].splitlines()]
    assert ["warp", "instr", "nop", "load", "ready", "off"] in rows
    assert ["0", "50.0", "4.0", "10.0", "6.0", "30.0"] in rows
    assert ["1", "30.0", "4.0", "10.0", "6.0", "50.0"] in rows


def test_every_column_of_the_warps_fits(metronome, backend, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    busy = WarpCycles(
        instructions=10, nops=20, not_selected=30, inactive=40,
        stalls={reason: 50 + number for number, reason in enumerate(REASONS)},
    )
    still = WarpCycles(instructions=0, nops=0, not_selected=0, inactive=busy.total, stalls=dict.fromkeys(REASONS, 0))
    backend.update(region=dataclasses.replace(backend.result.region, warps=(busy,) * 31 + (still,)))
    out = metronome("run", "psort", "--per-warp").out
    assert max(map(len, out.splitlines())) <= 80
    rows = [line.split() for line in out.split("every warp")[1].splitlines()]
    shares = [10, 20, *range(50, 59), 30, 40]
    assert ["30", *(f"{100 * share / busy.total:.1f}" for share in shares)] in rows
    assert ["31", *["0.0"] * 12, "100"] in rows


@pytest.mark.parametrize("mode", ["swas", "baseline", "vortex"])
def test_the_table_shows_the_oracles_where_they_can_differ(metronome, mode):
    words = set(metronome("run", "psort", "--mode", mode).out.split())
    shown = {"discrepancies", "errors", "70", "25", "14.0", "5.0"} <= words
    assert shown == (mode != "swas")


def test_the_oracles_of_a_region_that_never_opened(metronome, backend):
    backend.result.counters.update(cycles=0, discrepancies=0, errors=0)
    value = json.loads(metronome("run", "psort", "--mode", "baseline", "--json", "-").out)
    assert (value["cycles"], value["discrepancies"], value["errors"], value["error_rate"]) == (None, 0, 0, None)


def test_json_on_standard_output_is_alone_there(metronome, backend):
    backend.update(console="hello\n")
    done = metronome("run", "psort", "--json", "-")
    assert json.loads(done.out)["passed"] is True
    assert done.err == "hello\n"


def test_the_console_goes_to_standard_error(metronome, backend):
    backend.update(console="a [red]line[/]\nand another\n")
    done = metronome("run", "psort")
    assert done.err == "a [red]line[/]\nand another\n"
    assert "another" not in done.out


def test_console_bytes_are_written_as_they_are(backend, capfdbinary):
    written = bytes(range(128, 256)) + "é\n".encode()
    backend.update(console=written.decode("utf-8", "surrogateescape"))
    assert main(["run", "psort", "--json", "-"], backend=backend) == 0
    assert capfdbinary.readouterr().err == written


def test_a_vxbin_file_is_known_by_its_suffix(metronome, backend):
    Path("program.vxbin").write_bytes(b"")
    assert metronome("run", "program.vxbin").status == 0
    assert backend.prepared == [("vxbin program.vxbin", {})]
    done = metronome("run", "--bin", "program.vxbin")
    assert (done.status, only_line(done.err)) == (2, (
        "metronome: --bin program.vxbin: a .vxbin file is not a raw image: use metronome run program.vxbin"
    ))
    assert "none.vxbin" in only_line(metronome("run", "none.vxbin").err)


def test_an_argument_block_that_is_missing_is_a_note(metronome, backend):
    program = Path("program.elf")
    program.write_bytes(b"")
    backend.update(argument_missing=True)
    done = metronome("run", program)
    assert (done.status, only_line(done.err)) == (0, (
        "metronome: note: the program reads its argument block at 0x10000, but has none: give it one with --arg FILE"
    ))
    assert only_line(metronome("run", "psort").err).endswith("but has none: see its host.py")


def test_a_fault_is_status_3_with_its_place(metronome, backend):
    backend.fault()
    done = metronome("run", "psort", "--json", "-", status=3)
    line = only_line(done.err)
    for part in ("load misaligned", "warp 2", "pc 0x80000124", "address 0x00010002", "kernel.c:12", "work"):
        assert part in line
    value = json.loads(done.out)
    assert value["passed"] is False
    assert value["fault"] == {
        "cause": "load_misaligned", "warp": 2, "pc": 0x8000_0124, "address": 0x1_0002, "function": "work",
        "source": "kernel.c:12",
    }


def test_a_fault_without_debug_information_names_no_line(metronome, backend):
    backend.fault(pc=0x8000_0300)
    line = only_line(metronome("run", "psort", "--json", "x").err)
    assert line.endswith("pc 0x80000300, address 0x00010002")


def test_a_hang_is_status_4_and_says_what_each_warp_waits_for(metronome, backend):
    states = [
        WarpState(0, True, StallReason.BARRIER, 0x8000_0040), WarpState(1, False, StallReason.IDLE, 0),
        WarpState(2, True, StallReason.NONE, 0x8000_0080, {"issue": "gtlo"}),
    ]
    backend.update(status="hang", hang=states)
    done = metronome("run", "psort", "--json", "-", status=4)
    assert "700 cycles" in done.err
    assert "warp 0: last issued 0x80000040, waits: barrier" in done.err
    assert "warp 1: not active" in done.err
    starved = "starved: gtlo has passed it over at issue for 1024 cycles or more"
    assert f"warp 2: last issued 0x80000080, runs, {starved}" in done.err
    assert json.loads(done.out)["hang"] == [str(state) for state in states]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"exit_code": 7}, "exit code 7"),
        ({"status": "mismatch", "mismatches": ["cycle 12: warp 1, rd x5"]}, "golden model: cycle 12: warp 1, rd x5"),
        ({"status": "assertion", "assertions": ["the buffer was empty"]}, "assertion: the buffer was empty"),
    ],
)
def test_what_is_wrong_with_the_result_is_status_1(metronome, backend, change, complaint):
    backend.update(**change)
    done = metronome("run", "psort", "--json", "-", status=1)
    assert complaint in only_line(done.err)
    assert json.loads(done.out)["passed"] is False


def test_a_failed_kernel_check_is_status_1(metronome, backend):
    backend.problems = ["target[3] is 4, not 5", "target[4] is 5, not 4"]
    done = metronome("run", "psort", "--json", "-", status=1)
    assert done.err.splitlines() == [f"metronome: check: {problem}" for problem in backend.problems]
    assert json.loads(done.out)["problems"] == backend.problems


def test_the_check_is_not_asked_after_a_fault(metronome, backend):
    backend.fault()
    backend.problems = ["half done"]
    done = metronome("run", "psort", status=3)
    assert "half done" not in done.err


def test_a_foreign_program_fails_by_its_exit_code(metronome, backend, tmp_path):
    (tmp_path / "a.elf").touch()
    assert metronome("run", "--elf", "a.elf").status == 0
    backend.update(exit_code=1)
    assert metronome("run", "--elf", "a.elf").status == 1
    assert [name for name, _ in backend.prepared] == ["a.elf", "a.elf"]


def test_a_region_that_was_never_opened_is_said_to_be_so(metronome, backend, tmp_path):
    (tmp_path / "a.bin").touch()
    nothing = {name: 0 for name in backend.result.counters if name not in ("stalls", "total_cycles")}
    stalls = dict.fromkeys(backend.result.counters["stalls"], 0)
    backend.update(counters={**nothing, "total_cycles": 700, "stalls": stalls})
    value = json.loads(metronome("run", "--bin", "a.bin", "--json", "-").out)
    assert (value["cycles"], value["ipc"], value["total_cycles"]) == (None, None, 700)
    done = metronome("run", "--bin", "a.bin")
    assert (done.status, done.err) == (0, "")
    assert "never opened the region (CSR 0x7C0): see --region" in done.out
    assert "700" in done.out.split()
    # A kernel's author has to open it.
    assert "never opened the region (CSR 0x7C0)\n" in metronome("run", "psort").out


@pytest.mark.parametrize("faulting", [False, True])
def test_dumps_are_written_after_a_fault_too(metronome, backend, tmp_path, faulting):
    if faulting:
        backend.fault()
    done = metronome("run", "psort", "--dump", "target=a", "--dump", "table:4=b", "--dump", "0x11000:2=c")
    assert done.status == (3 if faulting else 0)
    assert (tmp_path / "a").read_bytes() == bytes(range(64))
    assert (tmp_path / "b").read_bytes() == bytes(range(16, 20))
    assert (tmp_path / "c").read_bytes() == bytes(range(2))
    assert len(list(tmp_path.iterdir())) == 3


def test_a_mismatch_is_told_after_a_fault_too(metronome, backend):
    backend.fault()
    backend.update(mismatches=["cycle 12: warp 1, rd x5"], assertions=["the buffer was empty"])
    done = metronome("run", "psort", "--check", status=3)
    fault, *rest = done.err.splitlines()
    assert "load misaligned" in fault
    assert rest == [
        "metronome: assertion: the buffer was empty",
        "metronome: differs from the golden model: cycle 12: warp 1, rd x5",
    ]
