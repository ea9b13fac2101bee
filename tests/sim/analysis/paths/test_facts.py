"""Flow facts: bounds of loops by a macro and in a file; what they allow, and what contradicts them."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from metronome.hdl.presets import BASE, TINY
from metronome.scripts.options.flow_facts import facts_of
from metronome.sim.analysis.bound.bound import contradicted
from metronome.sim.analysis.bound.search import Search
from metronome.sim.analysis.code.inputs import Inputs
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.analysis.paths import fact_filter
from metronome.sim.analysis.paths.facts import FactError, FactMonitor, Facts, marks_of
from metronome.sim.analysis.paths.ffx import read_ffx
from metronome.sim.machine.golden import Iss
from metronome.sim.run.runner import job_of
from metronome.sim.run.types import unpack_memory
from tests.sim.analysis.programs import all_paths, bound_of, compiled, exceeded, machine, one_run, request_of
from tests.support.tiers import some_more

pytestmark = pytest.mark.slow

HEAD = """#include "metronome.h"
uint32_t inputs[16] = {1}; /* not zeroed at the start */
uint32_t out[64];
"""
TAIL = """
int main(void) { const uint32_t n = 4; return spawn_threads(1, &n, 0, work, 0); }
"""
WORK = "static void work(__attribute__((unused)) const void *arg) {"


def _launch(folder: Path, text: str, bound: str = "", config=TINY):
    return compiled(folder, text.replace("BOUND ", bound), config=config)


def _ffx(folder: Path, text: str) -> str:
    path = folder / "facts.ffx"
    path.write_text(f"<flowfacts>{text}</flowfacts>")
    return str(path)


def _filled(launch, words):
    (name,) = launch.loads
    return Inputs(launch).filled({name: np.array((words * 16)[:16], "<u4").tobytes()})


LOOP = f"""{HEAD}{WORK} uint32_t x = inputs[blockIdx.x & 15], n = 0;
    while (x != 1) {{ BOUND x = x & 1 ? 3 * x + 1 : x / 2; n++; }}
    out[blockIdx.x & 63] = n; }}{TAIL}"""
#: Numbers below 5 take 7 steps at most; 7 takes 16.
SHORT, LONG = [1, 2, 3, 4], [7]


@pytest.mark.parametrize("config", some_more([TINY, BASE], 1), ids=["TINY", "BASE"])
def test_a_macro_bounds_a_loop(tmp_path, config):
    launch = _launch(tmp_path, LOOP, "METRONOME_LOOP_BOUND(7);", config)
    (mark,) = marks_of(launch.image)
    assert mark.most == 7 and launch.image.function_at(mark.pc) == "work"
    facts = facts_of(launch.image, None)
    _, most = all_paths(machine(config), launch, facts=facts)
    (fact,) = facts.used.values()
    assert fact.origin == "macro" and "program.c:5" in fact.text
    counts = one_run(machine(config), _filled(launch, SHORT))
    assert all(count <= most[warp].get(pc, 0) for warp, its in enumerate(counts) for pc, count in its.items())
    counts = one_run(machine(config), _filled(launch, LONG))
    assert any(count > most[warp].get(pc, 0) for warp, its in enumerate(counts) for pc, count in its.items())


def test_a_macro_costs_no_instruction(tmp_path):
    text = f"""{HEAD}{WORK} uint32_t sum = 0;
        for (uint32_t i = 0; i < inputs[blockIdx.x & 15]; i++) {{ BOUND sum = sum * 5 + i; }}
        out[blockIdx.x & 63] = sum; }}{TAIL}"""
    with_macro = _launch(tmp_path, text, "METRONOME_LOOP_BOUND(9);").image
    without = _launch(tmp_path, text, "__asm__ volatile(\"\");").image
    assert with_macro.segments == without.segments
    assert len(marks_of(with_macro)) == 1 and not marks_of(without)


def test_bound_and_observation(tmp_path):
    launch = _launch(tmp_path, LOOP, "METRONOME_LOOP_BOUND(7);")
    config, facts = machine(TINY), facts_of(launch.image, None)
    launch = _filled(launch, [1])
    bound = bound_of(config, launch, facts=facts)
    (header,) = facts.used
    assert bound.loops[header] == 8 and bound.origins == {header: "macro"}
    assert any("METRONOME_LOOP_BOUND(7)" in each.text for each in bound.assumptions)
    # 3 takes 7 steps.
    search = Search(config, request_of(launch), _filled(launch, [3]), 1)
    assert search.run(1).cycles <= bound.cycles <= 2 * search.observed.cycles
    # A run with 7 contradicts the fact: in the launch's own inputs, and in a search.
    with pytest.raises(RefusedError, match=r"8 iterations of a loop, which contradicts METRONOME_LOOP_BOUND\(7\)"):
        bound_of(config, _filled(launch, LONG), facts=facts_of(launch.image, None))
    request = request_of(_filled(launch, LONG))
    search = Search(config, request, _filled(launch, LONG), 1, check=lambda each: contradicted(config, each, facts))
    what, pc = search.run(1).contradiction
    assert "contradicts METRONOME_LOOP_BOUND(7)" in what and pc == header
    assert contradicted(config, request_of(_filled(launch, SHORT)), facts) is None


def test_a_loop_that_is_left_before_its_body(tmp_path):
    """Its header is passed once more than its body."""
    text = f"""{HEAD}{WORK} uint32_t x = inputs[blockIdx.x & 15], n = 0;
        for (;;) {{ __asm__ volatile("" : "+r"(x)); n += x; if (x < 9) break;
            METRONOME_LOOP_BOUND(5); x -= 8; __asm__ volatile("" : "+r"(n)); }}
        out[blockIdx.x & 63] = n; }}{TAIL}"""
    launch = _launch(tmp_path, text)
    facts = facts_of(launch.image, None)
    _, most = all_paths(machine(TINY), launch, facts=facts)
    (header,) = facts.used
    for words, turns in (([48], 5), ([3, 48], 5), ([49], 6)):
        filled = _filled(launch, words)
        assert max(counts.get(header, 0) for counts in one_run(machine(TINY), filled)) % (turns + 1) == 0
        assert exceeded(most, filled) == (turns == 6)
        assert (contradicted(machine(TINY), request_of(filled), facts) is None) == (turns == 5)


@pytest.mark.parametrize("turns", [5, 6])
def test_off_by_one_is_found(tmp_path, turns):
    launch = _launch(tmp_path, LOOP, f"METRONOME_LOOP_BOUND({turns});")
    facts = facts_of(launch.image, None)
    all_paths(machine(TINY), launch, facts=facts)
    # 3 takes 7 steps, 2 takes 1. The bound is of the iterations after the first pass of the header: 6.
    found = contradicted(machine(TINY), request_of(_filled(launch, [2, 3])), facts)
    assert (found is None) == (turns == 6)


def test_values_contradict(tmp_path):
    text = f"""{HEAD}{WORK} uint32_t sum = 0;
        for (uint32_t i = 0; i < 20; i++) {{ BOUND sum = sum * 5 + inputs[i & 15]; }}
        out[blockIdx.x & 63] = sum; }}{TAIL}"""
    launch = _launch(tmp_path, text, "METRONOME_LOOP_BOUND(8);")
    with pytest.raises(RefusedError, match=r"METRONOME_LOOP_BOUND\(8\) at .* is wrong: the loop executes more iter"):
        all_paths(machine(TINY), launch, facts=facts_of(launch.image, None))
    launch = _launch(tmp_path, text, "METRONOME_LOOP_BOUND(20);")
    facts = facts_of(launch.image, None)
    all_paths(machine(TINY), launch, facts=facts)
    assert not facts.used, "the values alone end it"


@pytest.mark.more
def test_inlined_copies_are_of_their_own_loops(tmp_path):
    text = f"""{HEAD}static inline __attribute__((always_inline)) uint32_t steps(uint32_t x) {{ uint32_t n = 0;
        while (x != 1) {{ BOUND x = x & 1 ? 3 * x + 1 : x / 2; n++; }} return n; }}
    {WORK} out[blockIdx.x & 63] = steps(inputs[blockIdx.x & 15]) * 8 + steps(inputs[blockIdx.x & 7]); }}{TAIL}"""
    launch = _launch(tmp_path, text, "METRONOME_LOOP_BOUND(7);")
    marks = marks_of(launch.image)
    assert len(marks) == 2 and len({mark.number for mark in marks}) == 1
    facts = facts_of(launch.image, None)
    _, most = all_paths(machine(TINY), launch, facts=facts)
    assert len(facts.used) == 2 and not facts.unclear
    assert not exceeded(most, _filled(launch, SHORT))


@pytest.mark.more
def test_unrolled_copies_are_told_and_not_trusted(tmp_path, monkeypatch):
    """The inner loop is dissolved: its bound must not become that of the one around it."""
    monkeypatch.setattr(fact_filter, "_MOST_TURNS", 40)
    text = f"""{HEAD}{WORK} uint32_t x = inputs[blockIdx.x & 15], n = 0;
        while (x > 3) {{ _Pragma("clang loop unroll(full)") for (int i = 0; i < 2; i++) {{ BOUND n += x ^ i; }}
            x -= 1 + (n & 1); }}
        out[blockIdx.x & 63] = n; }}{TAIL}"""
    launch = _launch(tmp_path, text, "METRONOME_LOOP_BOUND(2);")
    marks = marks_of(launch.image)
    assert len(marks) == 2 and len({mark.number for mark in marks}) == 1
    with pytest.raises(RefusedError, match="several copies of one METRONOME_LOOP_BOUND"):
        all_paths(machine(TINY), launch, facts=facts_of(launch.image, None))


@pytest.mark.more
def test_a_loop_around_a_call(tmp_path):
    text = f"""{HEAD}static __attribute__((noinline)) uint32_t steps(uint32_t x) {{ uint32_t n = 0;
        while (x != 1) {{ METRONOME_LOOP_BOUND(7); x = x & 1 ? 3 * x + 1 : x / 2; n++; }} return n; }}
    {WORK} uint32_t n = 0;
        for (uint32_t i = 0; i < 3; i++) n += steps(inputs[(blockIdx.x + i) & 15]);
        out[blockIdx.x & 63] = n; }}{TAIL}"""
    launch = _launch(tmp_path, text)
    facts = facts_of(launch.image, None)
    _, most = all_paths(machine(TINY), launch, facts=facts)
    assert [fact.most for fact in facts.used.values()] == [7]
    for words in (SHORT, [3], [3, 4]):
        assert not exceeded(most, _filled(launch, words))
        assert contradicted(machine(TINY), request_of(_filled(launch, words)), facts) is None
    assert contradicted(machine(TINY), request_of(_filled(launch, [9])), facts) is not None


@pytest.mark.more
def test_nested_loops(tmp_path):
    text = f"""{HEAD}{WORK} uint32_t x = inputs[blockIdx.x & 15], n = 0;
        while (x > 1) {{ METRONOME_LOOP_BOUND(3);
            for (uint32_t i = 0; i < x; i++) {{ METRONOME_LOOP_BOUND(4); n += x ^ i; }}
            x -= 1; }}
        out[blockIdx.x & 63] = n; }}{TAIL}"""
    launch = _launch(tmp_path, text)
    facts = facts_of(launch.image, None)
    _, most = all_paths(machine(TINY), launch, facts=facts)
    assert {fact.most for fact in facts.used.values()} == {3, 4}
    for words in ([4], [2, 4]):
        assert not exceeded(most, _filled(launch, words))
        assert contradicted(machine(TINY), request_of(_filled(launch, words)), facts) is None
    assert exceeded(most, _filled(launch, [9]))
    assert contradicted(machine(TINY), request_of(_filled(launch, [9])), facts) is not None


def _header(launch) -> int:
    """The header of the loop in ``work``, by the macro."""
    other = facts_of(launch.image, None)
    all_paths(machine(TINY), launch, facts=other)
    (header,) = other.used
    return header


def test_a_file_bounds_a_loop(tmp_path):
    header = _header(_launch(tmp_path, LOOP, "METRONOME_LOOP_BOUND(2);"))
    launch = _launch(tmp_path, LOOP, '__asm__ volatile("");')
    offset = header - launch.image.symbols["work"][0]
    results = []
    for text in (
        f'<loop address="{header:#x}" maxcount="2"/>',
        f'<function name="work"><loop offset="{offset}" maxcount="2" totalcount="400"/></function>',
        f'<loop label="work" offset="{offset:#x}" maxcount="NOCOMP" totalcount="2"/>',
        '<function label="work" ><loop source="program.c" line="5" maxcount="2"/></function>',
        '<function name="work" source="program.c"><loop line="5" maxcount="02"/></function>',
    ):
        facts = facts_of(launch.image, _ffx(tmp_path, text))
        _, most = all_paths(machine(TINY), launch, facts=facts)
        assert {fact.origin for fact in facts.used.values()} == {"file"} and not facts.unused_rules
        results.append(most)
    assert all(most == results[0] for most in results)
    assert not exceeded(results[0], _filled(launch, [4, 2])) and exceeded(results[0], _filled(launch, [3]))


def test_what_is_never_executed(tmp_path):
    text = f"""{HEAD}static __attribute__((noinline)) uint32_t steps(uint32_t x) {{ uint32_t n = 0;
        while (x != 1) {{ x = x & 1 ? 3 * x + 1 : x / 2; n++; }} return n; }}
    {WORK} uint32_t n = 0, x = inputs[blockIdx.x & 15];
        if (x > 9) n = steps(x);
        out[blockIdx.x & 63] = n + x; }}{TAIL}"""
    launch = _launch(tmp_path, text)
    for fact in ('<function name="steps" executed="false"/>', '<block label="steps" executed="false"/>'):
        facts = facts_of(launch.image, _ffx(tmp_path, fact))
        _, most = all_paths(machine(TINY), launch, facts=facts)
        assert not exceeded(most, _filled(launch, [9, 3]))
        assert contradicted(machine(TINY), request_of(_filled(launch, [9, 3])), facts) is None
        what, pc = contradicted(machine(TINY), request_of(_filled(launch, [9, 12])), facts)
        assert "never executed" in what and pc == launch.image.symbols["steps"][0]
    facts = facts_of(launch.image, _ffx(tmp_path, '<block label="work" executed="false"/>'))
    with pytest.raises(RefusedError, match="is wrong: it is executed"):
        all_paths(machine(TINY), launch, facts=facts)


def test_two_loops_on_one_line_are_refused(tmp_path):
    text = f"""{HEAD}{WORK} uint32_t x = inputs[blockIdx.x & 15], n = 0;
        while (x > 3) {{ for (uint32_t i = 0; i < (x & 7); i++) {{ n += x ^ i; __asm__ volatile(""); }} x -= n & 3; }}
        out[blockIdx.x & 63] = n; }}{TAIL}"""
    launch = _launch(tmp_path, text)
    facts = facts_of(launch.image, _ffx(tmp_path, '<loop source="program.c" line="5" maxcount="7"/>'))
    with pytest.raises(FactError, match="two nested loops are on this line"):
        all_paths(machine(TINY), launch, facts=facts)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<loop address="12z" maxcount="3"/>', "address must be a number, not '12z'"),
        ('<loop label="wrok" maxcount="3"/>', "the program has no symbol"),
        ('<loop offset="8" maxcount="3"/>', "the element is in none"),
        ('<loop line="8" maxcount="3"/>', "it has no place"),
        ('<loop address="64" maxcount="-3"/>', "maxcount must be between 0 and"),
        ("<function><loop/></function>", "it names no function"),
        ("<loop>", "not XML"),
    ],
)
def test_mistakes_in_a_file(tmp_path, text, words):
    image = _launch(tmp_path, LOOP, "").image
    with pytest.raises(FactError) as refused:
        read_ffx(Path(_ffx(tmp_path, text)), image)
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_numbers_are_decimal_octal_or_hexadecimal(tmp_path):
    image = _launch(tmp_path, LOOP, "").image
    for text, most in (("20", 20), ("020", 16), ("0x20", 32), ("0", 0)):
        (rule,), _ = read_ffx(Path(_ffx(tmp_path, f'<loop address="{text}" maxcount="{text}"/>')), image)
        assert (rule.address, rule.most) == (most, most)


def test_what_is_ignored_is_told(tmp_path):
    image = _launch(tmp_path, LOOP, "").image
    text = '<nocall label="exit"/><function name="work"><call name="f"><loop maxcount="3"/></call></function>'
    rules, ignored = read_ffx(Path(_ffx(tmp_path, text)), image)
    assert rules == [] and ["<nocall>" in ignored[0], "<call>" in ignored[1]] == [True, True]


@pytest.mark.more
def test_the_monitor_counts_entries_apart(tmp_path):
    launch = _filled(_launch(tmp_path, LOOP.replace("n = 4", "n = 8"), "METRONOME_LOOP_BOUND(7);"), SHORT)
    facts = facts_of(launch.image, None)
    all_paths(machine(TINY), launch, facts=facts)
    assert isinstance(facts, Facts)
    job = job_of(machine(TINY), request_of(launch))
    iss = Iss(TINY, unpack_memory(TINY, job.pages))
    iss.launch(job.start_pc, job.arg)
    monitor = iss.recorder = FactMonitor(facts, TINY.warps)
    iss.run(100_000)
    # Each warp goes through it several times, with more turns in all.
    assert monitor.contradiction is None
    tighter = dataclasses.replace(next(iter(facts.used.values())), most=3)
    for table in facts.tables.values():
        table.loops = dict.fromkeys(table.loops, tighter)
    assert contradicted(machine(TINY), request_of(launch), facts) is not None


@pytest.mark.parametrize("outer", ["", "METRONOME_LOOP_BOUND(40);"])
def test_two_loops_that_begin_at_one_place(tmp_path, monkeypatch, outer):
    """The bound of the inner one must not become that of both."""
    monkeypatch.setattr(fact_filter, "_MOST_TURNS", 40)
    text = f"""{HEAD}static inline __attribute__((always_inline)) uint32_t hidden(uint32_t x) {{
        __asm__("" : "+r"(x)); return x; }}
    {WORK} uint32_t x = hidden(inputs[0]);
        do {{ do {{ METRONOME_LOOP_BOUND(4); x = hidden(x - 1); }} while (hidden(x & 3)); {outer} }} while (hidden(x));
        out[0] = x; }}{TAIL}"""
    launch = _launch(tmp_path, text)
    with pytest.raises(RefusedError, match="another loop that begins there"):
        all_paths(machine(TINY), launch, facts=facts_of(launch.image, None))
