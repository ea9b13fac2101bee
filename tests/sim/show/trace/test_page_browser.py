"""The page of a run in Debian's Chromium without a network: what it shows is what was traced."""

from collections import Counter

import pytest

from metronome.sim.show.trace.profile import USES
from tests.sim.show.trace.pages import details, domain, page_of, place, settle, show, two_runs
from tests.support.tiers import some_more

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]


@pytest.mark.more
def test_every_cell_is_what_was_traced(tab, run):
    """Issues of every warp, as the page has them; and a few as the mouse shows them."""
    issues = list(run[2].issues())
    shown = tab.evaluate("""async () => {
        const found = [];
        await runs[0].find((block, at, cycle) => {
            const issues = (_, warp) => warp < runs[0].warps && block.states[warp * block.count + at] === 1;
            const warp = runs[0].states.findIndex(issues), code = block.codes[at];
            if (warp >= 0 && code) found.push([cycle, warp, runs[0].codes[code][0], block.lanes[at]]);
            return false;
        }, 0);
        return found;
    }""")
    assert [tuple(each) for each in shown] == issues
    assert len(issues) > 10_000
    for cycle, warp, pc, lanes in issues[5 :: len(issues) // 7]:
        show(tab, cycle)
        tab.mouse.move(*place(tab, cycle, warp))
        told = details(tab, "hint")
        assert (told["cycle"], told["warp"], told["pc"]) == (f"{cycle:,}", str(warp), f"0x{pc:08x}")
        assert told["lanes"].startswith(f"{lanes.bit_count()} of 4: {lanes:04b} ")
        line = run[1].source_line(pc)
        assert told["source"] == line or line is None
    tab.mouse.click(*place(tab, cycle, warp))
    assert details(tab)["pc"] == f"0x{pc:08x}"


def test_wheel_drag_and_touch(tab, run):
    whole = domain(tab)
    assert whole == [0, run[3].total_cycles]
    x, y = place(tab, 30_000, 1)
    tab.mouse.move(x, y)
    tab.mouse.wheel(0, -600)
    settle(tab)
    near = domain(tab)
    assert near[1] - near[0] < 0.7 * (whole[1] - whole[0])
    assert near[0] < 30_000 < near[1]
    assert place(tab, 30_000, 1)[0] == pytest.approx(x, abs=2)  # what is under the mouse stays there
    tab.mouse.down()
    tab.mouse.move(x + 100, y, steps=3)
    tab.mouse.up()
    settle(tab)
    moved = domain(tab)
    assert moved[0] < near[0]
    assert moved[1] - moved[0] == pytest.approx(near[1] - near[0])
    tab.keyboard.down("Shift")
    tab.mouse.wheel(0, 300)
    tab.keyboard.up("Shift")
    settle(tab)
    assert domain(tab)[0] > moved[0]
    tab.evaluate("""() => {
        const target = timeline.canvas;
        const touch = (identifier, clientX) => new Touch({ identifier, target, clientX, clientY: 300 });
        const send = (name, touches) => timeline.canvas.dispatchEvent(new TouchEvent(name,
            { touches, targetTouches: touches, changedTouches: touches, bubbles: true, cancelable: true }));
        timeline.show(0, timeline.length);
        send("touchstart", [touch(1, 500), touch(2, 600)]);
        send("touchmove", [touch(1, 400), touch(2, 700)]);
        send("touchend", [touch(1, 400), touch(2, 700)]);
    }""")
    settle(tab)
    pinched = domain(tab)
    assert pinched[1] - pinched[0] == pytest.approx((whole[1] - whole[0]) / 3, rel=0.05)


def test_the_headline_has_the_figures(tab, run):
    counters, total = run[3].counters, run[3].total_cycles
    cycles = counters["cycles"]
    shares = [100 * counters[name] / cycles for name in ("committed", "nops")]
    assert tab.inner_text(".figures") == (
        f"{total:,} cycles, {cycles:,} in the measured region: {shares[0]:.1f}% issue an instruction, "
        f"{shares[1]:.1f}% a NOP, {100 - sum(shares):.1f}% nothing"
    )
    made = tab.inner_text(".made")
    assert "Metronome " in made and "commit " in made


def test_keys(tab):
    tab.locator("#timeline").focus()
    length = tab.evaluate("timeline.length")
    tab.keyboard.press("+")
    settle(tab)
    near = domain(tab)
    assert near[1] - near[0] == pytest.approx(length / 2)
    tab.keyboard.press("ArrowRight")
    assert domain(tab)[0] > near[0]
    tab.keyboard.press("End")
    assert domain(tab)[1] == pytest.approx(length)
    tab.keyboard.press("Home")
    assert domain(tab)[0] == pytest.approx(0, abs=1e-6)
    tab.keyboard.press("Shift+ArrowRight")
    tab.keyboard.press("Shift+ArrowRight")
    tab.keyboard.press("ArrowDown")
    told = details(tab)
    assert (told["cycle"], told["warp"]) == ("2", "1")
    tab.keyboard.press("0")
    assert domain(tab) == pytest.approx([0, length])
    tab.keyboard.press("g")
    assert tab.evaluate("document.activeElement.id") == "jump"


def jump(tab, text):
    tab.fill("#jump", text)
    tab.press("#jump", "Enter")
    settle(tab)
    tab.wait_for_timeout(100)
    return tab.inner_text("#said")


@pytest.mark.more
def test_jumps(tab, run):
    issues = list(run[2].issues())
    jump(tab, "12,345")
    assert details(tab)["cycle"] == "12,345"
    assert domain(tab)[0] < 12_345 < domain(tab)[1]
    assert "the run has" in jump(tab, "99999999")
    _, _, pc, _ = issues[len(issues) // 2]
    cycles = [cycle for cycle, _, its, _ in issues if its == pc]
    tab.evaluate("timeline.cursor = null")
    jump(tab, f"{pc:#x}")
    assert details(tab)["cycle"] == f"{cycles[0]:,}"
    tab.locator("#timeline").focus()
    for key, expected in (("n", cycles[1]), ("n", cycles[2]), ("p", cycles[1])):
        tab.keyboard.press(key)
        assert details(tab)["cycle"] == f"{expected:,}"
    line = run[1].source_line(pc)
    at_line = [cycle for cycle, _, its, _ in issues if run[1].source_line(its) == line]
    tab.evaluate("timeline.cursor = null")
    jump(tab, line.rpartition("/")[2])
    assert details(tab)["cycle"] == f"{at_line[0]:,}"
    assert details(tab)["source"] == line
    marks = tab.evaluate("[...timeline.marks[0]].flatMap((mark, place) => mark ? [place] : [])")
    assert marks == sorted({cycle // 64 for cycle in at_line})
    assert "no cycle, pc (0x...) or source line" in jump(tab, "nothing.c:1")
    assert "nothing is issued at 0x00000004" in jump(tab, "0x4")


def column(tab, number):
    """The sum of a column of the table."""
    texts = tab.locator(f"section.profile tbody td:nth-child({number})").all_inner_texts()
    return sum(int(text.replace(",", "")) for text in texts)


def test_the_profile_adds_up(tab, run):
    counters = run[3].counters
    more = tab.locator("section.profile .more")
    if more.is_visible():
        more.click()
    assert column(tab, 3) == counters["cycles"]
    uses = Counter()
    for use, count in tab.evaluate("profiles[0].lines.flatMap(line => [...line.uses])"):
        uses[USES[use]] += count
    assert uses["issued"] == counters["committed"]
    assert uses["nop_start"] + uses["nop_miss"] + uses["nop_redirect"] == counters["nops"]
    assert {name: uses[name] for name in counters["stalls"]} == counters["stalls"]
    width = tab.locator(".icicle rect").first.bounding_box()["width"]
    assert tab.evaluate("""[...document.querySelectorAll('.icicle g')].filter(node => {
        const [box, text] = ['rect', 'text'].map(name => node.querySelector(name).getBoundingClientRect());
        return text.right > box.right + 1;
    }).map(node => node.textContent)""") == [], "names that are wider than their box"
    assert width > 500
    names = tab.evaluate("""[...document.querySelectorAll('.icicle g')].map(node =>
        ['title', 'text'].map(part => node.querySelector(part).textContent.split('\\n')[0]))""")
    names = [(title, text) for title, text in names if text]
    assert len(names) > 4 and all(title.endswith(text) for title, text in names), "names are whole"
    tab.locator("section.profile select").select_option("1")
    total = int(tab.inner_text("section.profile .total").split()[0].replace(",", ""))
    assert 0 < column(tab, 3) == total < counters["cycles"]
    line = tab.locator("section.profile button.line").first
    name = line.inner_text()
    line.click()
    assert details(tab)["source"] == name
    tab.locator(".icicle g.line").first.click()
    assert tab.locator(".icicle g.line rect").first.bounding_box()["width"] == pytest.approx(width, abs=2)


def test_light_dark_and_print(tab):
    """Pixels of the picture change with the theme; what is printed is light."""
    pixel = "[...timeline.context.getImageData(300 * timeline.ratio, 8 * timeline.ratio, 1, 1).data]"
    background = "getComputedStyle(document.body).backgroundColor"
    found = {}
    for name, media in {
        "light": {"media": "screen", "color_scheme": "light"}, "dark": {"media": "screen", "color_scheme": "dark"},
        "print": {"media": "print", "color_scheme": "dark"},
    }.items():
        tab.emulate_media(**media)
        settle(tab)
        tab.wait_for_timeout(150)
        found[name] = tab.evaluate(pixel)[:3], tab.evaluate(background)
    assert found["light"] == found["print"] == ([255, 255, 255], "rgb(255, 255, 255)")
    assert found["dark"] == ([20, 24, 28], "rgb(20, 24, 28)")


#: Labels of rows that are wider than their place, or higher than the distance to the next row.
CUT = """() => timeline.rows.flatMap((row, place) => {
    const { context } = timeline, lines = timeline.labelOf(row), next = timeline.rows[place + 1];
    context.font = `${Math.min(12, Math.max(8, row.height))}px system-ui, sans-serif`;
    const wide = lines.some(line => context.measureText(line).width > GUTTER - 12);
    return wide || next && lines.length * Math.min(12, row.height) > next.top - row.top ? [lines.join(" ")] : [];
})"""
#: Elements with a text that is cut, or that goes beyond the screen.
BEYOND = """() => [...document.querySelectorAll("h1, h2, h3, p, li, dt, dd, button, .controls > *")].filter(each => {
    if (!each.checkVisibility() || each.closest(".scroll")) return false;
    const box = each.getBoundingClientRect();
    return box.left < 0 || box.right > innerWidth + 1 || each.clientWidth && each.scrollWidth > each.clientWidth + 1;
}).map(each => each.textContent)"""


@pytest.mark.parametrize("scheme", some_more(["light", "dark"], 1))
def test_no_text_is_cut(tab, scheme):
    tab.emulate_media(color_scheme=scheme)
    tab.evaluate("document.querySelector('.made').prepend('metronome trace' + ' --set=' + 'latency_mul=6,'.repeat(30))")
    for width in (400, 800, 1400):
        tab.set_viewport_size({"width": width, "height": 800})
        settle(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate("timeline.width") > 200
        assert tab.evaluate(CUT) == []
        assert tab.evaluate(BEYOND) == []


def test_words_differ_without_colours(tab):
    """Whoever sees no colours tells the words of a row apart by texture or brightness."""
    tiles = tab.evaluate("""() => {
        const grey = pixel => 0.3 * (pixel & 255) + 0.59 * (pixel >> 8 & 255) + 0.11 * (pixel >> 16 & 255);
        const { tiles } = timeline.paint;
        return Object.fromEntries(runs[0].states[0].words.map(word => [word, [...tiles[word]].map(grey)]));
    }""")
    words = list(tiles)
    for place_, one in enumerate(words):
        for other in words[place_ + 1 :]:
            most = max(abs(a - b) for a, b in zip(tiles[one], tiles[other], strict=True))
            assert most >= 12, (one, other)


@pytest.mark.more
def test_two_runs(visit, run, tmp_path):
    other = page_of(tmp_path / "b.html", "transpose", 64, "lrr")
    (tab, requests, complaints), sides, measured = two_runs(visit, run, other, tmp_path)
    order = [[(warp, pc) for _, warp, pc, _ in side] for side in measured]
    parting = next(at for at, (one, two) in enumerate(zip(*order, strict=False)) if one != two)
    # The page begins there: both instructions one below the other, in the middle, near enough to tell cycles.
    cycles = [side[parting][0] for side in measured]
    assert tab.input_value("#align") == "order"
    assert tab.inner_text("#first").startswith(f"instruction {parting:,} of the measured region in the order of issue")
    assert tab.evaluate("timeline.difference") == cycles
    assert tab.evaluate("runs[1].offset") == cycles[0] - cycles[1]
    near = domain(tab)
    assert near[0] < cycles[0] < near[1] < near[0] + 200
    tab.evaluate("whole()")
    tab.click("#first")
    assert domain(tab) == pytest.approx(near)
    tab.select_option("#align", "instruction")
    assert tab.evaluate("timeline.difference") == cycles
    # The same instruction of a warp in both, one below the other.
    cycle, warp, _, _ = sides[0][len(sides[0]) // 2]
    number = sum(its == warp and when < cycle for when, its, _, _ in sides[0])
    partner = [when for when, its, _, _ in sides[1] if its == warp][number]
    show(tab, cycle)
    tab.mouse.click(*place(tab, cycle, warp))
    tab.wait_for_timeout(300)
    settle(tab)
    assert tab.evaluate("runs[1].offset") == cycle - partner
    assert place(tab, cycle, warp, 0)[0] == pytest.approx(place(tab, partner, warp, 1)[0])
    tab.select_option("#align", "cycle")
    assert tab.evaluate("runs[1].offset") == 0
    by_cycle = [{when: (its, pc) for when, its, pc, _ in side} for side in sides]
    first = tab.evaluate("timeline.difference")[0]
    assert by_cycle[0].get(first) != by_cycle[1].get(first)
    assert complaints == []
    assert requests == [(tmp_path / "c.html").as_uri()]


@pytest.mark.more
def test_names_are_text(visit, run):
    """A name with characters of HTML stays a name."""
    tab, _, _ = visit(run[0])
    assert tab.inner_text("h1") == "transpose <&> gtlo"
    assert run[0].read_bytes().count(b"<script") == tab.evaluate("document.scripts.length")
