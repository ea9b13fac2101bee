"""Random C programs with ranges, against their runs: ``python -m tests.sim.analysis.bound.ranged --count 200``.

Each has one to three inputs: variables that are zero at the start, or initialised, words of the argument block, static
variables of a function, elements of an array; integers of 8, 16 and 32 bits with and without a sign, and float. Loops
and branches depend on them. The seed says all of it. For each is printed the bound with the ranges and without; the
inputs are drawn within the ranges, both ends among them. The exit status is 1 if a run is above a bound, if runs differ
where the time is said to be exact, or if too few bounds are below those without ranges.
"""

import argparse
import dataclasses
import functools
import os
import random
import struct
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from metronome.hdl.config import SmConfig
from metronome.hdl.presets import BASE, TINY
from metronome.scripts.options.ranges import ranges_of
from metronome.sim.analysis.bound.assumptions import UserStatements
from metronome.sim.analysis.bound.bound import longest_time
from metronome.sim.analysis.bound.search import Search
from metronome.sim.analysis.code.refusals import RefusedError
from metronome.sim.analysis.paths import fact_filter
from metronome.sim.program.kernels import Launch
from metronome.sim.run.runner import run
from tests.sim.analysis.programs import machine, request_of
from tests.support.programs import prepared

#: C type to its least and greatest number.
_INTEGERS = {
    "int8_t": (-128, 127), "uint8_t": (0, 255), "int16_t": (-32768, 32767), "uint16_t": (0, 65535),
    "int32_t": (-(1 << 31), (1 << 31) - 1), "uint32_t": (0, (1 << 32) - 1),
}
_EVERY = 10
_PLACES = ("zero", "zero", "zero", "initialised", "initialised", "argument", "function", "array")


@dataclass(frozen=True)
class _Input:
    """``name``: for --range. ``expression``: what reads it in C. ``low``, ``high``: its range."""

    name: str
    expression: str
    type: str
    low: float
    high: float
    declaration: str = ""
    inside: str = ""

    @property
    def range(self) -> str:
        return f"{self.name}={self.low}..{self.high}"

    @property
    def unlimited(self) -> str:
        if self.type == "float":
            return f"{self.name}=-3.0e38..3.0e38"
        low, high = _INTEGERS[self.type]
        return f"{self.name}={low}..{high}"


class Written:
    """The program of a seed: its ``text``, its ``inputs``, and the ``arguments`` that it is launched with."""

    def __init__(self, seed: int) -> None:
        self._random = rng = random.Random(f"ranged/{seed}")
        self.config: SmConfig = machine(rng.choice((TINY, TINY, TINY, BASE)), rng.choice(("lrr", "lrr", "gtlo", "srr")))
        self.memory = rng.choice(("fixed", "fixed", "tdm"))
        self._names = 0
        self.inputs = [self._input(number) for number in range(rng.choice((1, 1, 2, 2, 3)))]
        self.arguments = b"".join(
            struct.pack("<f", each.low) if each.type == "float" else struct.pack("<I", int(each.low) & 0xFFFF_FFFF)
            for each in self._argued()
        )
        body = "\n".join(self._statement(each) for each in self.inputs for _ in range(rng.choice((1, 1, 2))))
        inside = "\n".join(each.inside for each in self.inputs)
        head = "\n".join(each.declaration for each in self.inputs)
        text = f'#include "metronome.h"\n{head}\nvolatile uint32_t sink[64];\n'
        if rng.random() < 0.3 and not inside.strip():
            self.text = (
                f"{text}static void work(const void *block) {{ (void)block; uint32_t acc = blockIdx.x;\n{body}\n"
                "    sink[blockIdx.x & 63] = acc; }\n"
                "int main(void) { const uint32_t n = 6; return spawn_threads(1, &n, 0, work, kernel_arguments()); }\n"
            )
        else:
            self.text = (
                f"{text}int main(void) {{\n    const void *block = kernel_arguments(); (void)block; uint32_t acc = 1;\n"
                f"{inside}\n{body}\n    sink[0] = acc;\n    return 0;\n}}\n"
            )

    def _argued(self) -> list[_Input]:
        return [each for each in self.inputs if each.name.startswith("arg[")]

    def _input(self, number: int) -> _Input:
        rng = self._random
        name, place = f"input{number}", rng.choice(_PLACES)
        kind = rng.choice((*_INTEGERS, "int32_t", "int32_t", "int8_t", "float", "float", "float"))
        if place == "argument":
            kind = rng.choice(("int32_t", "uint32_t", "float"))
        low, high = self._ends(kind)
        static = rng.choice(("", "", "static "))
        volatile = "volatile " if static or place == "function" else rng.choice(("", "volatile "))
        if place == "zero":
            return _Input(name, name, kind, low, high, f"{static}{volatile}{kind} {name};")
        if place == "initialised":
            value = self._literal(kind, high)
            return _Input(name, name, kind, low, high, f"{static}{volatile}{kind} {name} = {value};")
        if place == "array":
            first = rng.choice((f"{kind} {name}[4];", f"{kind} {name}[4] = {{{self._literal(kind, high)}}};"))
            return _Input(f"{name}[0..3]", f"{name}[{rng.randrange(4)}]", kind, low, high, f"{volatile}{first}")
        if place == "function":
            return _Input(f"main.{name}", name, kind, low, high, "", f"    static volatile {kind} {name};")
        index = sum(each.name.startswith("arg[") for each in getattr(self, "inputs", []))
        index += self._argument_count()
        return _Input(f"arg[{index}]", f"((const {kind} *)block)[{index}]", kind, low, high)

    def _argument_count(self) -> int:
        self._names += 1
        return self._names - 1

    def _ends(self, kind: str) -> tuple[float, float]:
        rng = self._random
        if kind == "float":
            low, high = rng.choice(((0.0, 6.5), (-2.5, 4.0), (-9.0, -1.5), (1.0, 20.0), (-6.0, 0.5), (0.25, 0.75)))
            return low, high
        low = rng.choice((0, 0, 1, 3)) if kind.startswith("u") else rng.choice((0, -5, -12, -3, -20, 1, 2))
        return low, low + rng.randint(2, 25)

    @staticmethod
    def _literal(kind: str, value: float) -> str:
        return f"{value}f" if kind == "float" else str(value)

    def _statement(self, each: _Input) -> str:
        rng = self._random
        self._names += 1
        v, i = f"v{self._names}", f"i{self._names}"
        work = rng.choice((
            f"acc = acc * 5 + (uint32_t){i};", f"acc ^= sink[{i} & 15] + {rng.randrange(9)};",
            f"acc = acc / 3 + (uint32_t){i}; if (acc & 1) acc += 7;",
        ))
        if each.type == "float":
            return self._float(each, v, i, work)
        read = f"    {{ const {each.type} {v} = {each.expression};\n"
        wide = f"(int32_t){v}" if each.type != "uint32_t" else v
        counter = "uint32_t" if each.type == "uint32_t" else "int32_t"
        bottom, top = int(each.low) - 2, int(each.high) + rng.randint(1, 6)
        least, most = (0, f"{wide} + 2") if each.low == 0 and each.type.startswith("u") else (wide, top)
        # A compiler makes constants of two loops whose turns it knows, unless they read something volatile.
        kept = f"acc ^= sink[{i} & 15] + 4;"
        shapes = [
            f"for ({counter} {i} = 0; {i} < {wide}; {i}++) {{ {work} }}",
            # From 0, the least of all unsigned numbers, it would turn as often without a range.
            f"for ({counter} {i} = {least}; {i} < {most}; {i}++) {{ {work} }}",
            f"for ({counter} {i} = {wide}; {i} > 0; {i} -= {1 + (counter == 'int32_t')}) {{ {work} }}",
            (f"if ({wide} < {int(each.high) + 1}) for (int32_t {i} = 0; {i} < 10; {i}++) {{ {kept} }}\n"
            f"        else for (int32_t {i} = 0; {i} < 90; {i}++) {{ {kept} }}"),
            f"for ({counter} {i} = 0; {i} < {wide} / 2 + 1; {i}++) {{ {work} }}",
        ]
        if counter == "int32_t":
            shapes += [
                f"for (int32_t {i} = {bottom}; {i} <= {wide}; {i}++) {{ {work} }}",
                f"for (int32_t {i} = 0; {i} < ({wide} < 0 ? -{wide} : {wide}); {i}++) {{ {work} }}",
                f"for (int32_t {i} = 0; {i} != {wide} - ({bottom}); {i}++) {{ {work} }}",
                (f"if ({wide} < 0) for (int32_t {i} = {wide}; {i} < 0; {i}++) {{ {work} }}\n"
                f"        else for (int32_t {i} = 0; {i} < {wide}; {i}++) {{ {work} }}"),
                f"for (int32_t {i} = -{wide}; {i} < {2 - bottom}; {i} += 3) {{ {work} }}",
            ]
        return f"{read}        {rng.choice(shapes)}\n    }}"

    def _float(self, each: _Input, v: str, i: str, work: str) -> str:
        rng = self._random
        read = f"    {{ float {v} = {each.expression};\n        int32_t {i} = 0; (void){i};\n"
        kept = f"acc ^= sink[{i} & 15] + 4;"
        shapes = (
            f"for (; {v} < {each.high + 3}f; {v} += 0.5f) {{ {i}++; {work} }}",
            f"const int32_t n{v} = (int32_t){v}; for (; {i} < n{v} + 12; {i}++) {{ {work} }}",
            f"for (float f{v} = {each.low - 1}f; f{v} <= {v}; f{v} += 1.0f) {{ {i}++; {work} }}",
            (f"if ({v} < {each.high + 1}f) for (; {i} < 5; {i}++) {{ {kept} }}\n"
            f"        else for (; {i} < 80; {i}++) {{ {kept} }}"),
            (f"const int32_t n{v} = (int32_t)(({v} < 0.0f ? -{v} : {v}) * 1.5f + 2.0f);\n"
            f"        for (; {i} < n{v}; {i}++) {{ {work} }}"),
            f"for (; {v} > {each.low - 2}f; {v} = {v} - 1.25f) {{ {i}++; {work} }}",
        )
        return f"{read}        {rng.choice(shapes)}\n    }}"

    def launch(self, folder: Path) -> Launch:
        """The program, compiled."""
        return dataclasses.replace(prepared(folder, self.text, self.config), arguments=self.arguments)


@dataclass(frozen=True)
class Checked:
    """Of one program: its ``bound`` with ranges, the one without (None: it has none), the ``longest`` run."""

    bound: int
    exact: bool
    unlimited: int | None
    longest: int
    hardware: int

    @property
    def narrowed(self) -> bool:
        """Whether the ranges have made the bound less, or have given one."""
        return self.unlimited is None or self.bound < self.unlimited


def check(seed: int, *, runs: int, rtl: int = 0) -> Checked:
    """Bound the program of a seed and run it; LookupError if a run contradicts what was said."""
    written = Written(seed)
    with tempfile.TemporaryDirectory() as folder:
        launch = written.launch(Path(folder))
    config, request = written.config, request_of(launch, written.config.policies[0], written.memory)
    ranges = ranges_of(launch, [each.range for each in written.inputs])
    bound = longest_time(config, request, launch, UserStatements(ranges=ranges))
    unlimited = None
    wide = ranges_of(launch, [each.unlimited for each in written.inputs])
    turns = fact_filter._MOST_TURNS
    try:
        # To give up sooner saves most of the time; what would take more turns has a far greater bound.
        fact_filter._MOST_TURNS = 300
        unlimited = longest_time(config, request, launch, UserStatements(ranges=wide)).cycles
    except RefusedError:
        pass
    finally:
        fact_filter._MOST_TURNS = turns
    search = Search(config, request, launch, seed, ranges)
    times = [search.measure(each) for each, _ in zip(search._candidates(runs), range(runs), strict=False)]
    if rtl and not bound.lost:
        search.confirm(lambda asked: run(config, asked), rtl)
    longest = search.observed.cycles
    if longest > bound.cycles:
        raise LookupError(f"bound {bound.cycles}, run {longest}")
    if bound.exact and set(times) != {bound.cycles}:
        raise LookupError(f"exact {bound.cycles}, runs {sorted({each or 0 for each in times})}")
    if search.observed.ended != search.observed.runs:
        raise LookupError("a run does not end")
    if not all(each.name in bound.inputs for each in ranges):
        raise LookupError(f"{bound.inputs!r} does not name every range")
    return Checked(bound.cycles, bound.exact, unlimited, longest, search.observed.hardware)


def _outcome(seed: int, *, runs: int, rtl: int) -> Checked | str:
    """The result of :func:`check`, or a line that begins with ``wrong`` or ``refused``."""
    try:
        return check(seed, runs=runs, rtl=rtl if seed % 10 == 0 else 0)
    except LookupError as error:
        return f"wrong: {error}"
    except RefusedError as error:
        return f"refused: {error}"


def main() -> int:
    """Check programs; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--rtl", type=int, default=0, help="runs on the hardware of every tenth program")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--show", action="store_true", help="print each program, and run nothing")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    if options.show:
        for seed in seeds:
            print(Written(seed).text, [each.range for each in Written(seed).inputs])
        return 0
    said: Counter[str] = Counter()
    ratios: list[float] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        outcomes = pool.map(functools.partial(_outcome, runs=options.runs, rtl=options.rtl), seeds)
        for seed, found in zip(seeds, outcomes, strict=True):
            if seed % _EVERY == 0:
                print(f"{seed}: {dict(said)}", file=sys.stderr, flush=True)
            if isinstance(found, str):
                said[found.partition(":")[0]] += 1
                print(f"seed {seed}: {found}", flush=True)
                continue
            kind = "below" if found.unlimited is not None and found.narrowed else "bounded, refused without"
            said[kind if found.narrowed else "not below"] += 1
            said["exact"] += found.exact
            said["runs on the hardware"] += found.hardware
            ratios.append(found.bound / found.longest)
            if not found.narrowed:
                print(f"seed {seed}: {found.bound}, without ranges {found.unlimited}", flush=True)
    print(f"seeds {options.seed} on: {dict(said)}; bound / longest run {min(ratios):.3f} to {max(ratios):.3f}, "
          f"mean {sum(ratios) / len(ratios):.3f}")
    below = said["below"] + said["bounded, refused without"]
    return 1 if said["wrong"] or below < 0.95 * options.count else 0


if __name__ == "__main__":
    sys.exit(main())
