"""The harness end to end, Verilator and cocotb included, with a scripted stub in place of the SM."""

import re
import struct
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from metronome.hdl.config import FaultCause
from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.layouts.probe import ASSERTIONS
from metronome.hdl.presets import TINY
from metronome.sim.build.simulator import BuildError, build
from metronome.sim.machine.golden import Fault
from metronome.sim.machine.memory.names import MEMORY_MODELS
from metronome.sim.machine.memory.registry import MemoryOptions, create_model
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.run.process import Simulation, simulation
from metronome.sim.run.runner import RunRequest, SimulationError, run, run_many
from metronome.sim.run.types import Job
from metronome.tb.mailbox import Mailbox
from tests.tb.stub_sm import ASSERTS, ENDS, FAULTS, HANGS, stub_verilog

pytestmark = pytest.mark.xdist_group("harness")


class Script:
    """A program for the stub."""

    entry = 0x8000_0000
    argument_address = 0x0001_0000

    def __init__(self, *, reads=0, exit_code=0, end=ENDS, records=0, prints=b""):
        self.words = [reads, exit_code, end, records, len(prints), int.from_bytes(prints, "big")]

    def load_into(self, memory):
        memory.write(self.entry, struct.pack("<6I", *self.words))
        memory.write(self.argument_address + 0x5000, b"untouched")


def request(script, **values):
    return RunRequest(**{"launch": script, "policy": "lrr", "latency": 3, "max_cycles": 5000} | values)


def run_stub(script, **values):
    return run(TINY, request(script, **values), verilog=stub_verilog(TINY))


@pytest.mark.slow
def test_end():
    result = run_stub(Script(exit_code=77, prints=b"hi\nx"))
    assert (result.status, result.exit_code, result.console) == ("ended", 77, "hi\nx\n")
    assert result.total_cycles == result.counters["total_cycles"] + 1
    assert set(result.counters["stalls"]) == {reason.name.lower() for reason in StallReason}
    assert result.memory.read_word(0x88) == 77
    assert result.memory.read(0x0001_5000, 9) == b"untouched"
    assert result.fault is None
    assert result.hang == result.mismatches == result.assertions == []
    assert result.cycles_per_second > 0


def stub_cycles(reads, model):
    """When the stub ends, by hand.

    One request at a time: two cycles from a response to the next request, four to the last one, two from its response
    to the end. The script, the lines from the argument upwards, and the exit code, which is written.
    """
    wanted = 1
    lines = [0x8000_0000 // 64, *(0x0001_0000 // 64 + number for number in range(reads)), 0x88 // 64]
    for number, (line, gap) in enumerate(zip(lines, [2] * reads + [4, 2], strict=True)):
        model.request(max(wanted, model.ready_from), 0, line, number > reads, 0, bytes(64))
        done = []
        while not done:  # next_due may be early
            done = model.complete(model.next_due)
        wanted = done[0].due + gap
    return wanted


@pytest.mark.slow
def test_memory_latency_in_cycles():
    """Every response exactly when the model says, every pause of the model kept."""
    cases = [("fixed", latency, 1) for latency in (1, 2, 7, 100)]
    cases += [("random", latency, seed) for latency in (1, 2, 30) for seed in (1, 2)]
    cases = [(*case, MemoryOptions()) for case in cases]
    cases += [("random", latency, 1, MemoryOptions(adversarial=True)) for latency in (1, 500)]
    cases += [
        (name, 1, 1, MemoryOptions(clock=Fraction(clock), queue_depth=depth))
        for name in ("dram", "tdm") for clock in ("1", "7/3", "1/2") for depth in (1, 32)
    ]
    requests = [
        request(
            Script(reads=60), memory=name, latency=latency, seed=seed, memory_options=options, max_cycles=100_000
        )
        for name, latency, seed, options in cases
    ]
    results = run_many(TINY, requests, verilog=stub_verilog(TINY))
    for (name, latency, seed, options), result in zip(cases, results, strict=True):
        model = create_model(name, SparseMemory(), None, latency=latency, seed=seed, options=options)
        assert result.total_cycles == stub_cycles(60, model), f"{name}, latency {latency}, seed {seed}, {options}"
        # An estimate: in so short a run it may well come out as nothing.
        assert 0 <= result.python_seconds <= result.sim_seconds


@pytest.mark.parametrize(("wakes", "wake_ns", "samples", "sample_ns", "seconds"), [
    (0, 0, 0, 0, 0.0), (2, 5_000_000_000, 0, 0, 5.0), (10, 5_000_000_000, 4, 400_000_000, 4.0), (10, 5, 1, 900, 0.0),
])
def test_python_seconds(wakes, wake_ns, samples, sample_ns, seconds):
    """The time of all wakes without what as many sampled cycles of the simulation took; never below nothing."""
    box = object.__new__(Mailbox)  # the real one needs the simulation around it
    box.fields = SimpleNamespace(wakes=wakes, wake_ns=wake_ns, samples=samples, sample_ns=sample_ns)
    assert box.python_seconds == seconds


@pytest.mark.slow
def test_fault():
    result = run_stub(Script(end=FAULTS))
    assert result.status == "fault"
    assert result.fault == Fault(FaultCause.ILLEGAL_INSTRUCTION, 1, 0x8000_0000, 0x0001_0000)


@pytest.mark.slow
def test_assertion():
    result = run_stub(Script(end=ASSERTS))
    assert (result.status, result.assertions) == ("assertion", [ASSERTIONS[1]])


@pytest.mark.slow
def test_hang():
    result = run_stub(Script(end=HANGS), max_cycles=321)
    assert (result.status, result.total_cycles) == ("hang", 321)
    starved = "starved: lrr has passed it over at issue for 1024 cycles or more"
    assert list(map(str, result.hang)) == [
        "warp 0: not active", f"warp 1: last issued 0x80000000, waits: barrier, {starved}",
    ]


@pytest.mark.more
def test_progress_tells_the_cycles_of_a_long_run():
    """Also of one in which nothing happens."""
    told = []
    result = run(
        TINY, request(Script(end=HANGS), max_cycles=6_000_000), verilog=stub_verilog(TINY), progress=told.append,
    )
    assert result.total_cycles == 6_000_000
    states = [re.fullmatch(r"simulate \((\d+) cycles, (\d+) cycles/s\)", step) for step in told]
    cycles = [int(state[1]) for state in states if state]
    assert cycles and cycles == sorted(set(cycles)) and cycles[-1] < 6_000_000


@pytest.mark.slow
def test_many_programs_in_order_across_processes(monkeypatch):
    """A process goes on after a clean end only; results come as they are made, and in the order of the requests."""
    ends = [ENDS, FAULTS, ENDS, HANGS, ASSERTS, ENDS, ENDS]
    requests = [
        request(Script(exit_code=number, end=end, prints=b"\n" * (number % 2))) for number, end in enumerate(ends)
    ]
    seen, printed, processes = [], [], []

    carry_out = Simulation.messages

    def count_processes(process, jobs):
        processes.append(len(jobs))
        return carry_out(process, jobs)

    monkeypatch.setattr(Simulation, "messages", count_processes)
    results = run_many(
        TINY, requests, verilog=stub_verilog(TINY),
        on_result=lambda position, result: seen.append((position, result.exit_code)),
        on_console=lambda position, line: printed.append((position, line)),
    )
    assert [result.status for result in results] == ["ended", "fault", "ended", "hang", "assertion", "ended", "ended"]
    assert [result.exit_code for result in results] == list(range(7))
    assert seen == [(number, number) for number in range(7)]
    assert printed == [(1, "\n"), (3, "\n"), (5, "\n")]
    assert [result.console for result in results] == ["", "\n"] * 3 + [""]
    assert processes == [7, 5, 3, 2]


@pytest.mark.slow
def test_reset_between_programs():
    """Only the reset clears the stub's cycle counter."""
    results = run_many(TINY, [request(Script(reads=20))] * 3, verilog=stub_verilog(TINY))
    assert [result.counters["total_cycles"] for result in results] == [results[0].total_cycles - 1] * 3


@pytest.mark.slow
def test_trace_has_every_cycle():
    result = run_stub(Script(records=50_000), trace=True, max_cycles=100_000)
    events = result.events
    assert events["cycle"].tolist() == list(range(result.total_cycles + 1))
    issued = events["issue"][events["issue"]["valid"] == 1]
    assert issued["pc"].tolist() == list(range(0, 200_000, 4))
    assert np.flatnonzero(events["issue"]["valid"])[0] > 0


def test_lock_step_stops_a_wrong_program():
    result = run_stub(Script(records=3), check=True)
    assert result.status == "mismatch"
    assert result.checked
    assert result.mismatches[0].startswith("lock step: pc: expected 0x80000000, got 0x00000000\n")


@pytest.mark.parametrize("values, text", [
    ({"policy": "round"}, "policy must be one of lrr, gtlrr, gtlo, not 'round'"),
    ({"memory": "core"}, f"memory must be one of {', '.join(MEMORY_MODELS)}, not 'core'"),
    ({"latency": 0}, "latency must be at least 1, not 0"),
    ({"memory_options": {"seed": 1}}, r"memory_options must be MemoryOptions, not \{'seed': 1\}"),
    ({"max_cycles": 0}, "max_cycles must be at least 1, not 0"),
    ({"seed": -1}, "seed must be at least 0, not -1"),
    ({"memcheck": True}, "memcheck needs a Launch, which describes the program's memory"),
])
def test_bad_request(values, text):
    with pytest.raises(ValueError, match=text):
        run_stub(Script(), **values)


def job(**values):
    return Job(**{
        "config": TINY, "pages": {}, "start_pc": 0x8000_0000, "arg": 0, "policy": 0, "fetch_policy": 0,
        "memory": "fixed", "latency": 1, "seed": 1, "memory_options": MemoryOptions(), "check": False, "trace": False,
        "max_cycles": 100,
    } | values)


def test_crash_of_the_process(tmp_path):
    crash = tmp_path / "crash"
    crash.write_text("#!/bin/sh\necho the last words\nexit 3\n")
    crash.chmod(0o755)
    with pytest.raises(SimulationError, match=r"(?s)died with status 3:\nthe last words"):
        with simulation(crash) as process:
            list(process.messages([job()]))


@pytest.mark.slow
def test_exception_in_the_testbench():
    executable = build(TINY, verilog=stub_verilog(TINY)).executable
    with pytest.raises(SimulationError, match=r"(?s)testbench failed:\nTraceback.*memory must be one of .* 'none'"):
        with simulation(executable) as process:
            list(process.messages([job(memory="none")]))


@pytest.mark.long  # a build of its own, with the dump library
def test_waves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("METRONOME_WAVES", "dump.vcd")
    assert run_stub(Script(exit_code=4)).exit_code == 4
    assert "$enddefinitions" in (tmp_path / "dump.vcd").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nowhere/dump.vcd", "a file/dump.vcd", "."])
def test_waves_that_cannot_be_written_are_refused_before_the_build(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("METRONOME_CACHE", "/proc/nope")
    monkeypatch.setenv("METRONOME_WAVES", name)
    (tmp_path / "a file").touch()
    with pytest.raises(BuildError, match=rf"^METRONOME_WAVES: cannot write {name}: .*: name another file$"):
        run_stub(Script(exit_code=4))
