"""``metronome analyze`` on the command line."""

import json

import pytest

from metronome.sim.analysis.access_order.configuration import decode
from metronome.sim.analysis.access_order.estimate import CacheSize, estimate, lookups
from metronome.sim.program import kernels as kernel
from tests.sim.analysis.access_order.programs import compiled, listing_of
from tests.support.builds import TINY, on

COLUMNS = 80


def test_table_files_and_json(metronome, tmp_path):
    run = metronome(
        "analyze", "transpose", "--preset", "TINY", "--cache", "16K/4", "--cache", "128/1", "--cache", "NONE",
        "--order", "a.order", "--listing", "a.txt", "--json", "a.json",
    )
    assert (run.status, run.err) == (0, "")
    listing = listing_of(TINY, kernel.prepare("transpose", None, None, 1, TINY))
    text = (tmp_path / "a.txt").read_text()
    assert text.startswith(f"-num_pcs {len(listing.pcs)}\n-pc_addrs [ {next(iter(listing.pcs))} , ")
    assert run.out.startswith(text.split("\n")[0] + "\n")
    assert [(each.pc, each.warp) for each in decode((tmp_path / "a.order").read_bytes())] == [
        (each.pc, each.warp) for each in listing.accesses
    ]
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["num_pcs"] == len(document["pcs"]) == len(listing.pcs)
    names = ("epoch", "pc", "group", "member", "warp")
    assert [tuple(each[name] for name in names) for each in document["accesses"]] == [
        each.key for each in listing.accesses
    ]
    assert [tuple(each["addresses"]) for each in document["accesses"]] == [
        tuple(64 * line for line in each.lines) for each in listing.accesses
    ]
    assert {each["place"].partition(", ")[2] for each in document["pcs"]} >= {"riscv_kernels/transpose/kernel.c:16"}
    sums = [estimate(lookups(listing), size).total for size in (CacheSize(16384, 4), CacheSize(128, 1), CacheSize(0))]
    caches = document["caches"]
    assert [(each["misses"], each["hits"]) for each in caches] == [(each.misses, each.hits) for each in sums]
    for each in caches:
        assert sum(row["misses"] for row in each["pcs"]) == each["misses"] and "mismatches" not in each
    last = run.out.strip().split("\n")[-1].split()
    assert last == ["all", *(str(sum(each[key] for each in document["pcs"])) for key in ("instances", "lines")),
                    *(str(each.misses) for each in sums)]
    assert "transpose/kernel.c:16" in run.out and sums[0].misses < sums[1].misses < sums[2].misses


def test_the_cache_of_the_machine_is_the_usual_one(metronome):
    alone = json.loads(metronome("analyze", "vecadd", "--preset", "TINY", "--size", "8", "--json", "-").out)
    (cache,) = alone["caches"]
    assert (cache["bytes"], cache["ways"]) == (TINY.dcache_bytes, TINY.dcache_ways)
    run = metronome("analyze", "vecadd", "--preset", "TINY", "--size", "8", "--set", "dcache_bytes=0")
    assert "data cache none" in " ".join(run.out.split())
    assert run.out.strip().split("\n")[-1].split()[-2:] == ["0", str(cache["hits"] + cache["misses"])]


def test_a_region_of_an_elf(metronome, tmp_path):
    compiled(tmp_path, "static volatile uint32_t words[4]; int main(void) { words[2] = words[1]; return 0; }", TINY)
    run = metronome("build", "program.c", "-o", "program.elf")
    assert run.status == 0
    run = metronome("analyze", "--elf", "program.elf", "--preset", "TINY")
    assert run.status == 2
    assert "program.elf: the program opens no measured region: say --region whole, main or a function\n" in run.err
    run = metronome("analyze", "--elf", "program.elf", "--preset", "TINY", "--region", "main", "--json", "-")
    document = json.loads(run.out)
    assert {each["kind"] for each in document["pcs"] if "in main" in each["place"]} == {"L", "S"}
    assert document["grids"] == []
    whole = json.loads(
        metronome("analyze", "--elf", "program.elf", "--preset", "TINY", "--region", "whole", "--json", "-").out
    )
    assert len(whole["accesses"]) > len(document["accesses"])


@pytest.mark.parametrize(("arguments", "line"), [
    (("psort",), "psort: an address that it loads or stores depends on the inputs (at 0x"),
    (("vecadd", "--cache", "16K"), "--cache: '16K' is not a cache: write bytes and ways, such as 16K/4, or none"),
    (("vecadd", "--cache", "3K/4"), "--cache 3K/4: bytes must be 64 * ways * a power of two, not 3072 with ways=4"),
    (("vecadd", "--cache", "16K/0"), "--cache 16K/0: ways must be at least 1, not 0"),
    (("vecadd", "--order", "."), "--order: cannot write '.': it is a folder"),
    (("vecadd", "--order", "x", "--listing", "x"), "--listing: x is already the file of --order"),
    (("vecadd", "--check",), "No such option: --check"),
])
def test_bad_use(metronome, arguments, line):
    run = metronome("analyze", *arguments)
    assert (run.status, run.out) == (2, "")
    assert run.err.startswith(f"metronome: {line}") and run.err.count("\n") == 1


ORDERED = ("--preset", "TINY", "--set", "channels=ordered")


def test_ordered_channels_get_a_list(metronome):
    """The misses of a prediction are those of the estimate."""
    counted = json.loads(metronome("predict", "sgemm", "--size", "4", "--json", "-", *ORDERED).out)
    listed = json.loads(metronome("analyze", "sgemm", "--size", "4", "--json", "-", *ORDERED).out)
    assert counted["status"] == "ended" and counted["lines"]["loads"]["misses"] == listed["caches"][0]["misses"] > 0


@pytest.mark.parametrize(("arguments", "line"), [
    (("psort",), ("psort: channels=ordered needs a list of its accesses, and there is none: an address that it loads "
                 "or stores")),
    (("sgemm", "--issue", "prr"), "policies must be without prr with channels=ordered"),
    (("sgemm", "--set", "channel_depth=1"), "channel_depth must be between threads, 2, and 32 with channels=ordered"),
])
def test_what_ordered_channels_refuse(metronome, arguments, line):
    run = metronome("predict", *arguments, *ORDERED)
    assert run.status == 2 and run.err.startswith("metronome: ") and line in run.err and run.err.count("\n") == 1


@pytest.mark.long
@on("ordered")
def test_the_hardware_looks_up_in_that_order(metronome):
    run = metronome("analyze", "sgemm", "--preset", "TINY", "--size", "4", "--issue", "gtlo", "--verify", "--json", "-")
    assert run.status == 0
    verified = json.loads(run.out)["verified"]
    assert verified["mismatches"] == 0 and verified["misses"] == json.loads(run.out)["caches"][0]["misses"] > 0
