"""The critical path on the page of a run, in Debian's Chromium."""

import pytest

from metronome.hdl.presets import BASE
from metronome.sim.show.trace.chain import Chain
from tests.sim.show.trace.pages import details, page_of, place, settle, show

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.mark.more
def test_the_critical_path_is_drawn(visit, tmp_path):
    """Below the row of the warp that it is on there is a dark line; without the tick there is none."""
    file, _, kept, result = page_of(tmp_path / "barriers.html", "psum", 64, "lrr")
    chain = Chain(BASE)
    chain.begin()
    for partitions in kept.parts:
        chain.take(partitions)
    tab, _, complaints = visit(file)
    settle(tab)
    assert tab.evaluate("runs[0].chain") == [list(link) for link in chain.links]
    assert len({link.warp for link in chain.links}) > 1
    darkness = """([cycle, warp]) => {
        const row = timeline.rows.find(each => each.warp === warp), ratio = timeline.ratio;
        const x = Math.round(timeline.x(cycle + 0.5) * ratio), y = Math.floor((row.top + row.height - 0.5) * ratio);
        const ink = d3.rgb(timeline.paint.colour("ink")), [r, g, b] = timeline.context.getImageData(x, y, 1, 1).data;
        return Math.abs(r - ink.r) + Math.abs(g - ink.g) + Math.abs(b - ink.b) < 30;
    }"""
    ends = [*(link.begin for link in chain.links[1:]), result.total_cycles]
    for link, end in list(zip(chain.links, ends, strict=True))[:: max(1, len(ends) // 6)]:
        middle = (link.begin + end) // 2
        show(tab, middle)
        drawn = [tab.evaluate(darkness, [middle, warp]) for warp in range(BASE.warps)]
        assert drawn == [warp == link.warp for warp in range(BASE.warps)]
        tab.mouse.click(*place(tab, middle, link.warp))
        assert details(tab)["critical path"] == "is here"
        tab.mouse.click(*place(tab, middle, (link.warp + 1) % BASE.warps))
        assert "critical path" not in details(tab)
    tab.evaluate("timeline.cursor = null")
    tab.locator("#chain").uncheck()
    settle(tab)
    assert not any(tab.evaluate(darkness, [middle, warp]) for warp in range(BASE.warps))
    assert complaints == []
