"""The page of a machine with two schedulers, in Debian's Chromium: what each partition does is what was traced."""

from dataclasses import replace

import pytest

from metronome.hdl.presets import BASE
from tests.sim.show.trace.pages import details, page_of, place, show, two_runs

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

TWO = replace(BASE, schedulers=2)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return page_of(tmp_path_factory.mktemp("partitions") / "a.html", "psum", 64, "gtlo", TWO)


def slot(tab, cycle, partition):
    """Where on the screen the cell of an issue slot is, in the middle."""
    return tab.evaluate("""([cycle, partition]) => {
        const box = timeline.canvas.getBoundingClientRect();
        const row = timeline.rows.filter(each => each.label === "issue slot")[partition];
        return [box.left + timeline.x(cycle + 0.5), box.top + row.top + row.height / 2];
    }""", [cycle, partition])


def test_every_issue_is_in_its_partition(tab, run):
    issues = list(run[2].issues())
    shown = tab.evaluate("""async () => {
        const found = [], [run] = runs;
        await run.find((block, at, cycle) => {
            for (let warp = 0; warp < run.warps; warp += 1) {
                const code = run.codeOf(block, at, warp);
                if (block.states[warp * block.count + at] !== 1 || !code) continue;
                found.push([cycle, warp, run.codes[code][0], block.lanes[run.partitionOf(warp) * block.count + at]]);
            }
            return false;
        }, 0);
        return found;
    }""")
    assert sorted(map(tuple, shown)) == sorted(issues)
    both = {cycle for cycle, warp, *_ in issues if warp % 2} & {cycle for cycle, warp, *_ in issues if not warp % 2}
    assert len(both) > 100
    for cycle, warp, pc, _ in [each for each in issues if each[0] in both][5 :: len(both) // 3]:
        show(tab, cycle)
        for where, name in ((place(tab, cycle, warp), "does"), (slot(tab, cycle, warp % 2), slot_name(warp % 2))):
            tab.mouse.move(*where)
            told = details(tab, "hint")
            assert (told["cycle"], told["warp"], told["pc"]) == (f"{cycle:,}", str(warp), f"0x{pc:08x}")
            assert told[name] == "instruction issued"


def slot_name(partition):
    return f"issue slot of partition {partition}"


def test_the_rows_are_named(tab, run):
    titles = tab.evaluate("timeline.rows.filter(row => row.kind === 'title').map(row => row.label)")
    assert titles == ["partition 0: warps 0, 2", "partition 1: warps 1, 3", "all partitions"]
    labels = tab.evaluate("timeline.rows.map(row => row.label)")
    assert [labels.count(name) for name in ("issue slot", "ALU", "fetch", "write buffer")] == [2, 2, 2, 1]
    counters = run[3].counters
    slots = 2 * counters["cycles"]
    shares = [100 * counters[name] / slots for name in ("committed", "nops")]
    assert tab.inner_text(".figures") == (
        f"{run[3].total_cycles:,} cycles, {counters['cycles']:,} in the measured region with 2 issue slots each; "
        f"of the slots, {shares[0]:.1f}% issue an instruction, {shares[1]:.1f}% a NOP, "
        f"{100 - sum(shares):.1f}% nothing"
    )
    assert tab.inner_text("section.profile .total") == f"{slots:,} issue slots"


@pytest.mark.more
def test_two_runs_differ_where_a_partition_does(visit, run, tmp_path):
    """The first cycle in which a partition selects something else, and the first issue in another order."""
    other = page_of(tmp_path / "b.html", "psum", 64, "lrr", TWO)
    (tab, _, complaints), _, measured = two_runs(visit, run, other, tmp_path)
    parting = next(at for at, (one, two) in enumerate(zip(*measured, strict=False)) if one[1:3] != two[1:3])
    assert tab.inner_text("#first").startswith(f"instruction {parting:,} of the measured region in the order of issue")
    assert tab.evaluate("timeline.difference") == [side[parting][0] for side in measured]
    tab.select_option("#align", "cycle")
    assert " in partition " in tab.inner_text("#first")
    assert complaints == []
