"""Random programs whose loops have only the bounds that they are given: no run is beyond what is said of all."""

import random

import pytest

from metronome.hdl.presets import BASE, TINY
from metronome.scripts.options.flow_facts import facts_of
from metronome.scripts.options.ranges import ranges_of
from metronome.sim.analysis.bound.bound import contradicted
from metronome.sim.analysis.bound.search import Search
from metronome.sim.analysis.code.inputs import Inputs
from tests.sim.analysis.programs import all_paths, bound_of, compiled, machine, one_run, request_of

SEED = 20_261_124
RUNS = 8


class Program:
    """A thread's function with loops that the values do not bound: their step is hidden from the compiler."""

    def __init__(self, number: int) -> None:
        self._random = random.Random(SEED + number)
        #: No input is more.
        self.most = self._random.choice([5, 9, 14])
        self.loops = 0
        body = self._statements(2, self.most)
        self.text = f"""#include "metronome.h"
uint32_t inputs[16] = {{1}};
uint32_t out[64];
static inline __attribute__((always_inline)) uint32_t hidden(uint32_t x) {{ __asm__("" : "+r"(x)); return x; }}
static void work(__attribute__((unused)) const void *arg) {{
    const uint32_t own = inputs[blockIdx.x & 15];
    uint32_t sum = own;
{body}
    out[blockIdx.x & 63] = sum; }}
int main(void) {{ const uint32_t n = 12; return spawn_threads(1, &n, 0, work, 0); }}
"""

    def _statements(self, depth: int, most: int) -> str:
        return "\n".join(self._statement(depth, most) for _ in range(self._random.randint(1, 2)))

    def _statement(self, depth: int, most: int) -> str:
        kind = self._random.choice(["loop", "loop", "if", "sum"]) if depth else "sum"
        if kind == "sum":
            return f"sum = sum * 3 + (own >> {self._random.randint(0, 2)});"
        if kind == "if":
            return (
                f"if (hidden(own) & {self._random.choice([1, 2, 4])}) {{ {self._statements(depth - 1, most)} }}"
                f" else {{ sum ^= {self._random.randint(1, 99)}; }}"
            )
        self.loops += 1
        name, step = f"x{self.loops}", self._random.randint(1, 3)
        turns = -(-most // step)
        bound = f"METRONOME_LOOP_BOUND({turns});"
        inner = self._statements(depth - 1, most)
        if self._random.random() < 0.5:
            # It is left before its body.
            return (
                f"for (uint32_t {name} = own;;) {{ sum += hidden({name}); if ({name} == 0) break; {bound} {inner}"
                f" {name} = hidden({name} > {step} ? {name} - {step} : 0); }}"
            )
        return (
            f"for (uint32_t {name} = own; {name} != 0; {name} = hidden({name} > {step} ? {name} - {step} : 0))"
            f" {{ {bound} {inner} }}"
        )


@pytest.mark.parametrize("number", [
    pytest.param(each, marks=[pytest.mark.slow, pytest.mark.more, pytest.mark.long][min(each, 2)]) for each in range(24)
])
def test_no_run_is_beyond(tmp_path, number):
    program = Program(number)
    print("seed", SEED + number, program.text)
    config = machine(TINY if number % 2 else BASE)
    launch = compiled(tmp_path, program.text, config=config)
    ranges = ranges_of(launch, [f"inputs=0..{program.most}"])
    facts = facts_of(launch.image, None)
    _, most = all_paths(config, launch, ranges, facts)
    assert {fact.origin for fact in facts.used.values()} <= {"macro"}
    inputs = Inputs(launch, ranges)
    launch = inputs.filled(inputs.own)
    search = Search(
        config, request_of(launch), launch, SEED + number, ranges, check=lambda each: contradicted(config, each, facts)
    )
    nearest = 0.0
    for contents, _ in zip(search._candidates(RUNS), range(RUNS), strict=False):
        for warp, counts in enumerate(one_run(config, inputs.filled(contents))):
            assert all(count <= most[warp].get(pc, 0) for pc, count in counts.items())
            nearest = max(nearest, sum(counts.values()) / max(1, sum(most[warp].values())))
    bound = bound_of(config, launch, ranges=ranges, facts=facts)
    observed = search.run(RUNS)
    assert observed.contradiction is None and observed.cycles <= bound.cycles
    assert nearest > 0.3
