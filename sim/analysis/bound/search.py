"""Search for slow inputs of a program, to find a run above its bound and to show how tight the bound is."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.hdl.gpu.config import GpuConfig

from ...predict.gpu.predictor import predict_gpu
from ...predict.predictor import predict
from ...program.kernels import Launch
from ...run.types import RunRequest, RunResult
from ..code.inputs import Inputs, Range

__all__ = ["Observed", "Search", "with_inputs"]

_WORD = 4
#: The number of slow inputs kept for the hardware.
_KEPT = 64


@dataclass
class Observed:
    """The observed ``runs``: the longest took ``cycles``, with these ``inputs`` by name.

    ``ended``: the runs that ended normally; others, which faulted or reached the limit, do not count. ``hardware``: the
    runs on the hardware. ``contradiction``: how and where a run contradicts a flow fact.
    """

    runs: int = 0
    ended: int = 0
    hardware: int = 0
    cycles: int = 0
    inputs: dict[str, bytes] = field(default_factory=dict)
    contradiction: tuple[str, int] | None = None


def with_inputs(launch: Launch, inputs: dict[str, bytes]) -> Launch:
    """Return ``launch`` with other contents of its buffers and files."""
    return Inputs(launch).filled(inputs)


class Search:
    """Searches the inputs of one launch on one SM or GPU; the predictor gives the time of each run.

    It tries no input outside ``ranges``. ``check`` returns how and where a run contradicts flow facts.
    """

    def __init__(
        self, config: SmConfig | GpuConfig, request: RunRequest, launch: Launch, seed: int,
        ranges: Sequence[Range] = (), check: Callable[[RunRequest], tuple[str, int] | None] = lambda request: None,
    ) -> None:
        self._config, self._request, self._check = config, request, check
        inputs = self._inputs = Inputs(launch, ranges)
        self._random = np.random.default_rng(seed)
        self._own = inputs.own
        self._slowest: list[tuple[int, dict[str, bytes]]] = []
        self.observed = Observed()

    def confirm(self, run: Callable[[RunRequest], RunResult], count: int) -> None:
        """Run the ``count`` slowest inputs so far on the hardware; the start-up code must not clear any."""
        for _, inputs in self._slowest[:count]:
            # The hardware has the inputs in memory from the launch on.
            launch = dataclasses.replace(self._inputs.filled(inputs), at_main={})
            result = run(dataclasses.replace(self._request, launch=launch))
            self.observed.hardware += 1
            self._note(result, inputs)

    def _note(self, result: RunResult, inputs: dict[str, bytes]) -> int | None:
        observed = self.observed
        observed.runs += 1
        if result.status != "ended":
            return None
        observed.ended += 1
        if result.total_cycles > observed.cycles:
            observed.cycles, observed.inputs = result.total_cycles, inputs
        return result.total_cycles

    def run(self, count: int, tell: Callable[[int], None] = lambda done: None) -> Observed:
        """Make ``count`` runs: with the launch's own inputs, corner values, random ones, then changes of the slowest.

        With ranges, the first input and, from the sixth on, every second one are random within them.
        """
        for number, inputs in zip(range(count), self._candidates(count), strict=False):
            self.measure(inputs)
            tell(number + 1)
        return self.observed

    def measure(self, inputs: dict[str, bytes]) -> int | None:
        """Return the cycles with these inputs; None if the program does not end normally."""
        request = dataclasses.replace(self._request, launch=self._inputs.filled(inputs))
        if self.observed.contradiction is None:
            self.observed.contradiction = self._check(request)
        config = self._config
        made = predict_gpu(config, request) if isinstance(config, GpuConfig) else predict(config, request)
        cycles = self._note(made.result, inputs)
        if cycles is not None:
            self._slowest.append((cycles, inputs))
            self._slowest.sort(key=lambda each: -each[0])
            del self._slowest[_KEPT:]
        return cycles

    def _candidates(self, count: int) -> Iterator[dict[str, bytes]]:
        others = self._outside(count)
        if not self._inputs.ranges:
            yield self._own
            if self._own:
                # Without inputs, there is only one run.
                yield from others
            return
        yield self._drawn()
        yield from (self._inputs.extreme(self._own, high=high) for high in (True, False))
        yield self._own
        for candidate in others:
            yield {name: self._inputs.confined(name, data) for name, data in candidate.items()}
            yield self._drawn()

    def _drawn(self) -> dict[str, bytes]:
        """Draw random inputs, uniformly within a range where there is one."""
        return self._inputs.drawn({name: self._words(len(data)) for name, data in self._own.items()}, self._random)

    def _outside(self, count: int) -> Iterator[dict[str, bytes]]:
        """Yield inputs that may lie outside the ranges."""
        yield from self._corners()
        for _ in range(count // 4):
            yield {name: self._words(len(data)) for name, data in self._own.items()}
        while True:
            yield self._changed(self.observed.inputs or self._own)

    def _corners(self) -> Iterator[dict[str, bytes]]:
        for value in (0, 0xFFFF_FFFF, 0x7FFF_FFFF, 0x8000_0000, 1, 0x3F80_0000, 0x7FC0_0000, 0x7F80_0000, 0x5555_5555):
            yield {name: (value.to_bytes(4, "little") * len(data))[: len(data)] for name, data in self._own.items()}
        for step in (1, -1, 16, -16, 0x0100_0193):
            yield {name: _steps(len(data), step) for name, data in self._own.items()}
        # Make different lanes slow in each warp, or the same ones.
        for stride in (2, 4, 8, 32):
            yield {
                name: np.where(np.arange(len(data) // _WORD + 1) % stride == 0, 0xFFFF_FFFF, 0)
                .astype(np.uint32).tobytes()[: len(data)]
                for name, data in self._own.items()
            }

    def _words(self, size: int) -> bytes:
        kind = int(self._random.integers(4))
        count = size // _WORD + 1
        if kind == 0:
            words = self._random.integers(0, 1 << 32, count, dtype=np.uint32)
        elif kind == 1:
            words = self._random.integers(0, 8, count, dtype=np.uint32)
        elif kind == 2:
            words = self._random.permutation(count).astype(np.uint32)
        else:
            words = self._random.standard_normal(count).astype(np.float32).view(np.uint32)
        return words.tobytes()[:size]

    def _changed(self, inputs: dict[str, bytes]) -> dict[str, bytes]:
        """Change some words or stretches of words."""
        changed = dict(inputs)
        name = list(changed)[int(self._random.integers(len(changed)))]
        data = bytearray(changed[name])
        words = max(1, len(data) // _WORD)
        for _ in range(int(self._random.integers(1, 5))):
            first = int(self._random.integers(words)) * _WORD
            length = _WORD * int(self._random.choice([1, 1, 2, 4, max(1, words // 4)]))
            fresh = self._words(length)
            kind = int(self._random.integers(3))
            if kind == 1:
                fresh = bytes([int(self._random.choice([0, 0xFF, 0x7F, 0x80]))]) * length
            elif kind == 2:
                other = int(self._random.integers(words)) * _WORD
                fresh = bytes(data[other : other + length])
            data[first : first + length] = fresh[: max(0, len(data) - first)]
        changed[name] = bytes(data[: len(inputs[name])])
        return changed


def _steps(size: int, step: int) -> bytes:
    """Return the multiples of a number, one in each word."""
    return (np.arange(size // _WORD + 1, dtype=np.int64) * step).astype(np.uint32).tobytes()[:size]
