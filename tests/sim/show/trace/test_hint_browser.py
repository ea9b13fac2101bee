"""The description of the cell under the pointer on the page of a run, in Debian's Chromium."""

from itertools import pairwise

import pytest

from metronome.sim.build.sources import ROOT
from tests.sim.show.trace.pages import details, place, show
from tests.support.tiers import some_more

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


def under(tab):
    """The expected description: that of the cell that is at the pointer now."""
    cycle, warp = tab.evaluate("(({ cycle, row }) => [cycle, row.warp])(timeline.cellAt(timeline.pointer))")
    return [f"{cycle:,}", str(warp)]


def boxes(tab):
    """The description of the cell under the pointer, and what it may not cover: all cells, and those of its row."""
    return tab.evaluate("""() => {
        const box = ({ left, right, top, bottom }) => ({ left, right, top, bottom });
        const canvas = box(timeline.canvas.getBoundingClientRect()), { row } = timeline.cellAt(timeline.pointer);
        const cells = { ...canvas, left: canvas.left + GUTTER, top: canvas.top + AXIS };
        const top = canvas.top + row.top, near = { ...cells, top: top - row.height, bottom: top + 2 * row.height };
        return [box(hint.getBoundingClientRect()), cells, near];
    }""")


def apart(one, other):
    return (one["right"] <= other["left"] or other["right"] <= one["left"]
            or one["bottom"] <= other["top"] or other["bottom"] <= one["top"])


def test_the_hint_follows_the_keys(tab):
    """Zooming and moving by keys changes what is under the pointer, and so what is told."""
    show(tab, 30_000)
    tab.locator("#timeline").focus()
    tab.mouse.move(*place(tab, 30_013, 1))
    seen = []
    for key in ("+", "ArrowRight", "-"):
        tab.keyboard.press(key)
        told = details(tab, "hint")
        assert [told["cycle"], told["warp"]] == under(tab)
        seen.append(told["cycle"])
    assert len(set(seen)) == 3
    outline, cell = tab.evaluate("""() => {
        const { cycle } = timeline.cellAt(timeline.pointer), left = timeline.canvas.getBoundingClientRect().left;
        return [spot.getBoundingClientRect().left - left, timeline.x(cycle)];
    }""")
    assert outline == pytest.approx(cell, abs=3)


@pytest.mark.parametrize("screen", some_more([(1400, 900, 0), (400, 800, 1), (400, 800, 0)], 1), ids=str)
def test_the_hint_covers_no_cell(tab, screen):
    """If there is no room for it outside of the cells, it leaves the row of its cell and the rows beside it alone."""
    width, height, scroll = screen
    tab.set_viewport_size({"width": width, "height": height})
    tab.evaluate(f"scrollTo(0, {scroll} * (timeline.canvas.getBoundingClientRect().top + scrollY - 20))")
    # The browser tells the page of its new size and place with the next frames; the page then hides the hint.
    tab.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    show(tab, 30_000, 20)
    for warp in (0, 3):
        for cycle in (29_992, 30_006):
            tab.mouse.move(*place(tab, cycle, warp))
            assert details(tab, "hint")["cycle"] == f"{cycle:,}"
            its, cells, near = boxes(tab)
            assert apart(its, near) and (scroll or apart(its, cells))
            assert 0 <= its["left"] and its["right"] <= width and its["bottom"] <= height
    tab.mouse.move(5, 5)
    assert list(details(tab, "hint")) == ["nothing yet"]


def test_the_source_line_of_what_waits(tab, run):
    """A warp that waits is told with its next instruction, and a unit with the instruction that enters it."""
    issues = list(run[2].issues())
    cycle, warp, pc, _ = next(
        issue for before, issue in pairwise(each for each in issues[5_000:] if each[1] == 1) if issue[0] > before[0] + 2
    )
    show(tab, cycle)
    tab.mouse.move(*place(tab, cycle - 1, warp))
    told = details(tab, "hint")
    file, _, line = run[1].source_line(pc).rpartition(":")
    assert (told["pc"], told["source"]) == (f"0x{pc:08x}", f"{file}:{line}")
    assert told["source text"] == (ROOT / file).read_text().splitlines()[int(line) - 1].strip()
    assert "next instruction" in told and "instruction" not in told
    entered = tab.evaluate(f"""() => told(runs[0], timeline.rows.find(row => row.only !== undefined), {cycle + 2})""")
    assert dict(entered)["pc"] == f"0x{pc:08x}"


def test_the_sum_over_cycles_is_told(tab, run):
    """Far away the mouse shows how many cycles each thing has taken."""
    issues = list(run[2].issues())
    tab.mouse.move(*place(tab, 30_000, 1))
    told = details(tab, "hint")
    first, last = (int(text.replace(",", "")) for text in told["cycles"].split(" to "))
    wanted = sum(warp == 1 and first <= cycle <= last for cycle, warp, _, _ in issues)
    assert told["instruction issued"] == f"{wanted:,} cycles"
    counts = [int(text.split()[0].replace(",", "")) for text in told.values() if text.endswith(" cycles")]
    assert wanted < sum(counts) <= last - first + 1
