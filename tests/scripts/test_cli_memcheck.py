"""What the command line says of deadlocks and of the memory checker's findings; end to end on TINY."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest

from metronome.hdl.layouts.counters import StallReason
from metronome.sim.run.memcheck import Finding, Leftover, Side
from metronome.sim.run.outcome import MOST_FINDINGS
from metronome.sim.run.types import WarpState
from tests.support.programs import built

RACE = Finding(
    "race", 0x1_1000, 4, Side(1, 2, 0x8000_0124, 300, "loads"), "no barrier since",
    Side(0, 3, 0x8000_0300, 290, "stores"), 5,
)

STUCK = """\
#include "metronome.h"

static volatile uint32_t sum;

static void thread(const void *nothing)
{
    (void)nothing;
    sum += blockIdx.x; /* the race */
    if (simt_warp_id() == 1)
        simt_bar(0, 2); /* the wait */
}

int main(void)
{
    const uint32_t harts = 4;
    return spawn_threads(1, &harts, 0, thread, 0);
}
"""


def test_a_finding_is_status_1_and_names_both_sides(metronome, backend):
    backend.update(memcheck=[RACE])
    done = metronome("run", "psort", "--memcheck", "--json", "-", status=1)
    assert done.err.strip() == (
        "metronome: memcheck: race: warp 1, lane 2 loads 4 bytes at 0x00011000, pc 0x80000124 at kernel.c:12 in work,"
        " cycle 300: no barrier since warp 0, lane 3 stores it, pc 0x80000300, cycle 290 (5 times)"
    )
    value = json.loads(done.out)
    assert value["passed"] is False
    assert value["memcheck"] == [{
        "kind": "race", "address": 0x1_1000, "size": 4, "what": "no barrier since", "count": 5, "note": False,
        "warp": 1, "lane": 2, "pc": 0x8000_0124, "cycle": 300, "access": "loads", "function": "work",
        "source": "kernel.c:12", "other": {
            "warp": 0, "lane": 3, "pc": 0x8000_0300, "cycle": 290, "access": "stores", "function": None,
            "source": None,
        },
    }]


def test_a_note_fails_no_run(metronome, backend):
    backend.update(memcheck=[dataclasses.replace(RACE, note=True)])
    done = metronome("run", "psort", "--memcheck", "--json", "-", status=0)
    assert done.err.startswith("metronome: note: memcheck: race: warp 1, lane 2 ")
    value = json.loads(done.out)
    assert (value["passed"], [finding["note"] for finding in value["memcheck"]]) == (True, [True])


@pytest.mark.parametrize(("read", "computed", "whole", "found"), [
    (0x1_1000, False, True, True), (0x1_1000, True, True, True), (0x7000_0000, True, True, False),
    (0x1_1000, True, False, True), (0x1_1000, False, False, False),
])
def test_what_depends_on_nothing_written_is_a_finding_where_the_host_reads_it(
    metronome, backend, tmp_path, read, computed, whole, found,
):
    """psort has buffers: only what is read of them counts, or of a dump; and no padding beside what is defined."""
    left = Leftover(dataclasses.replace(RACE, kind="unwritten"), np.array([[read, read + 2]]), computed, whole)
    backend.update(memcheck=[], leftovers=[left])
    file = tmp_path / "out.bin"
    done = metronome("run", "psort", "--memcheck", "--dump", f"0x11000:16={file}")
    assert done.status == int(found)
    assert ("memcheck: unwritten" in done.err) == found


def test_not_all_findings_are_printed(metronome, backend):
    backend.update(memcheck=[RACE] * (MOST_FINDINGS + 7))
    done = metronome("run", "psort", "--check", "--json", "-")
    assert len(json.loads(done.out)["memcheck"]) == MOST_FINDINGS + 7
    assert len(done.err.splitlines()) == MOST_FINDINGS + 1
    assert done.err.splitlines()[-1] == "metronome: memcheck: 7 more: --json has them all"


def test_findings_of_a_run_that_faults_are_told_and_the_fault_is_the_status(metronome, backend):
    backend.fault()
    backend.update(memcheck=[RACE])
    done = metronome("run", "psort", "--check", status=3)
    assert "fault:" in done.err and "memcheck: race" in done.err


@pytest.mark.parametrize(("options", "check", "memcheck"), [
    ((), False, False), (("--check",), True, True), (("--memcheck",), False, True),
    (("--check", "--no-memcheck"), True, False), (("--no-memcheck",), False, False),
])
def test_when_it_is_on(metronome, backend, options, check, memcheck):
    assert metronome("run", "psort", *options).status == 0
    ((_, request),) = backend.runs
    assert (request.check, request.memcheck, request.strict_races) == (check, memcheck, False)


@pytest.mark.parametrize("more", [(), ("--check", "--no-memcheck"), ("--sms", "2")])
def test_strict_races_need_the_checker(metronome, more):
    assert "--strict-races is for the memory checker" in metronome("run", "psort", "--strict-races", *more).refusal


def test_strict_races(metronome, backend):
    assert metronome("run", "psort", "--memcheck", "--strict-races").status == 0
    ((_, request),) = backend.runs
    assert request.strict_races


def test_a_sweep_in_lock_step_has_it_on(metronome, backend):
    metronome("sweep", "psort", "--mode", "swas", "--issue", "lrr", "--check")
    ((_, request),) = backend.runs
    assert request.memcheck


def test_a_deadlock_is_status_4_and_says_who_waits_where(metronome, backend):
    states = [
        WarpState(0, True, StallReason.BARRIER, 0x8000_0124), WarpState(1, False, StallReason.IDLE, 0),
        WarpState(2, True, StallReason.CONTROL, 0x8000_0300, wait="jumps to itself"),
    ]
    backend.update(status="deadlock", hang=states)
    done = metronome("run", "psort", "--json", "-", status=4)
    lines = [line.removeprefix("metronome: ") for line in done.err.splitlines()]
    assert lines == [
        "deadlock: after 700 cycles no active warp can ever continue",
        "warp 0: last issued 0x80000124 at kernel.c:12 in work, waits: barrier", "warp 1: not active",
        "warp 2: last issued 0x80000300, jumps to itself",
    ]
    value = json.loads(done.out)
    assert (value["status"], value["hang"]) == ("deadlock", lines[1:])
    assert ["result", "deadlock"] in [line.split() for line in metronome("run", "psort").out.splitlines()]


@pytest.mark.build("TINY")
def test_end_to_end(run, tmp_path):
    """A race, and then a deadlock, with their lines."""
    status, value, err = run("--elf", built(tmp_path, STUCK, "stuck"), "--check")
    race, wait = (1 + STUCK[: STUCK.index(text)].count("\n") for text in ("the race", "the wait"))
    assert (status, value["status"], value["mismatches"]) == (4, "deadlock", [])
    for finding in value["memcheck"]:
        sides = [finding, finding["other"]]
        assert [(finding["kind"], side["function"]) for side in sides] == [("race", "thread")] * 2
        assert all(Path(side["source"]).name == f"stuck.c:{race}" for side in sides)
        assert {side["warp"] for side in sides} == {0, 1}
    assert value["memcheck"]
    assert re.search(rf"warp 1: last issued 0x\w+ at \S*stuck\.c:{wait} in thread, waits: barrier 0: until 2 ", err)
    assert re.search(r"warp 0: .*waits: wspawn\(1, 0x\w+\): until it is the only active warp", err)


@pytest.mark.build("TINY")
def test_a_kernel_of_ours_is_clean(run):
    status, value, err = run("psum", "--size", 20, "--memcheck")
    assert (status, err, value["memcheck"]) == (0, "", [])
