"""``metronome wcet`` on the command line."""

import json

import pytest

COLUMNS = 200


def test_exact_and_bound(metronome, tmp_path):
    document = tmp_path / "wcet.json"
    run = metronome("wcet", "vecadd", "--preset", "TINY", "--json", str(document))
    assert run.status == 0 and "every run takes exactly" in run.out and "whatever a and b and c hold" in run.out
    exact = json.loads(document.read_text())
    assert exact["holds"]["inputs"] in " ".join(run.out.split()) and "2 warps of 2 threads" in exact["holds"]["machine"]
    assert exact["exact"] and exact["bound"] == sum(exact["composition"].values())
    assert exact["depends_on_inputs"] == [] and "observed_max" not in exact
    run = metronome(
        "wcet", "psort", "--preset", "TINY", "--size", "8", "--observe", "3", "--no-rtl", "--json", str(document)
    )
    assert run.status == 0 and "every run takes at most" in run.out
    bound = json.loads(document.read_text())
    assert not bound["exact"] and bound["observed_runs"] == 3 and bound["ratio"] >= 1
    lines = bound["lines"]
    laid = sum(each[kind] for each in lines["lines"] for kind in ("instructions", "nops", "waits"))
    assert laid + sum(lines["rest"].values()) == lines["bound"] == bound["bound"]
    assert "psort/kernel.c:22" in lines["lines"][0]["line"] and "by source line" in run.out
    loop = max(bound["worst_path"]["loops"], key=lambda each: each["passes"])
    # Of 4 * 8 passes: the others are in the beginning that all runs have in common.
    assert 0 < loop["passes"] < 4 * 8 and "place_element" in loop["place"]
    (turning,) = [each for each in bound["worst_path"]["branches"] if loop["pc"] in [way["to"] for way in each["ways"]]]
    left, again = sorted(way["count"] for way in turning["ways"])
    assert (again, left + again) == (7 * left, loop["passes"])
    (place,) = bound["depends_on_inputs"]
    assert place["kind"] == "address" and "kernel.c:" in place["place"]
    assert {"implicit paths", "work-conserving"} <= {each["method"] for each in bound["composers"]}
    assert bound["not_bounds"] == [] and "Huangfu" not in run.out
    assert all(each["held_by"] for each in bound["assumptions"])


def test_the_published_formulas_with_the_misses_of_a_list(metronome):
    run = metronome("wcet", "saxpy", "--preset", "TINY", "--size", "24", "--set", "channels=ordered", "--compose")
    assert run.status == 0 and "every run takes exactly" in run.out
    assert "not a bound: segments with a miss rate (Huangfu 2017)" in run.out and "work-conserving" not in run.out


def test_the_slowest_run_as_a_page(metronome, tmp_path):
    page, document = tmp_path / "slowest.html", tmp_path / "wcet.json"
    options = ("--preset", "TINY", "--size", "8", "--slowest", str(page), "--json", str(document))
    assert metronome("wcet", "psort", *options).status == 2
    assert metronome("wcet", "psort", *options, "--observe", "4", "--no-rtl").status == 0
    bound = json.loads(document.read_text())
    _, _, text = page.read_text().partition('<script type="application/json" class="run" id="run-0">')
    data = json.loads(text.partition("</script>")[0])
    assert data["cycles"] == bound["observed_max"]
    assert ["bound", str(bound["bound"])] in data["facts"]
    assert ["it holds", bound["holds"]["inputs"]] in data["facts"]
    assert data["chain"][0] == [0, 0] and all(warp < 2 for _, warp in data["chain"])


def test_a_range(metronome, tmp_path):
    document = tmp_path / "wcet.json"
    options = ("--preset", "TINY", "--size", "8", "--range", "source=0..9", "--json", str(document))
    run = metronome("wcet", "psort", *options, "--observe", "3", "--no-rtl")
    assert run.status == 0
    bound = json.loads(document.read_text())
    assert bound["ranges"] == ["source=0..9"] and bound["ratio"] >= 1
    assert bound["assumptions"][0] == {"text": "the inputs are in the range source=0..9", "held_by": "the user"}


COLLATZ = """#include "metronome.h"
uint32_t inputs[4] = {6, 7, 3, 1};
uint32_t out[4];
static void work(__attribute__((unused)) const void *arg) {
    uint32_t x = inputs[blockIdx.x], n = 0;
    while (x != 1) { x = x & 1 ? 3 * x + 1 : x / 2; n++; FACT }
    out[blockIdx.x] = n; }
int main(void) { const uint32_t n = 4; return spawn_threads(1, &n, 0, work, 0); }
"""


@pytest.mark.more
def test_flow_facts(metronome, tmp_path):
    document, facts = tmp_path / "wcet.json", tmp_path / "facts.ffx"
    (tmp_path / "a.c").write_text(COLLATZ.replace("FACT", "METRONOME_LOOP_BOUND(16);"))
    (tmp_path / "b.c").write_text(COLLATZ.replace("FACT", ""))
    loops = '<loop source="./b.c" line="6" maxcount="16"/>'
    facts.write_text(f"<flowfacts>{loops}</flowfacts>")
    run = ("--preset", "TINY", "--range", "inputs=1..7", "--json", str(document), "--observe", "5", "--no-rtl")
    for program, options, origin in (("a.c", (), "macro"), ("b.c", ("--flow-facts", str(facts)), "file")):
        result = metronome("wcet", program, *run, *options)
        assert result.status == 0, result.err
        bound = json.loads(document.read_text())
        assert [each["from"] for each in bound["loops"] if each["bound"] == 17] == [origin]
        assert any(each["text"].startswith("flow fact: ") for each in bound["assumptions"])
    # The same file by its whole path and by a link; then what is of nothing.
    (tmp_path / "link.c").symlink_to("b.c")
    for source, line, status in ((tmp_path / "b.c", 6, 0), (tmp_path / "link.c", 6, 0), ("b.c", 4, 2), ("c.c", 6, 2)):
        facts.write_text(f'<flowfacts><loop source="{source}" line="{line}" maxcount="16"/></flowfacts>')
        result = metronome("wcet", "b.c", *run[:4], "--flow-facts", str(facts))
        assert result.status == status, result.err
        if status == 2:
            assert result.err.count("\n") == 1 and "matches no loop; the nearest is at" in result.err
            assert "b.c:6" in result.err
    # 9 takes 19 steps.
    result = metronome("wcet", "a.c", *(each.replace("1..7", "1..9") for each in run))
    assert result.status == 1
    assert result.err.count("\n") == 1 and "in work" in result.err
    assert "contradicts METRONOME_LOOP_BOUND(16)" in result.err


def test_refusals_are_one_line(metronome):
    for arguments, words in (
        (("psort", "--memory", "dram"), "has no bound: give one"),
        (("psort", "--mode", "baseline"), "only swas"),
        (("psort", "--observe", "-1"), "--observe must be at least 0"),
        (("psort", "--range", "sauce=1..2"), "no buffer or variable is named 'sauce'"),
        (("psort", "--memory-bound", "0"), "--memory-bound must be at least 1"),
    ):
        run = metronome("wcet", *arguments, "--preset", "TINY")
        assert run.status == 2
        assert words in run.err and run.err.count("\n") == 1


def test_what_is_no_input_is_told(metronome):
    """Memory whose latency is only bounded: nothing depends on the inputs, and yet the time is not exact."""
    memory = ("--memory", "random", "--latency", "30", "--memory-bound", "40")
    run = metronome("wcet", "vecadd", "--preset", "TINY", *memory)
    assert run.status == 0 and "every run takes at most" in run.out
    assert "the time does not depend on the inputs" in run.out and "depends on the inputs at" not in run.out
