"""The model's predictors of one warp, uncompiled, and random programs for them."""

import importlib
import inspect
import random
import types
from typing import Any

import numpy as np

from metronome.hdl.config import SmConfig
from metronome.sim.machine.events import NONE
from metronome.sim.predict.model.records import TARGETS

#: The most return addresses and counters.
_MOST = 64


def _uncompiled() -> Any:
    """Return the module of the model with its rules as plain functions."""
    compiled = importlib.import_module("metronome.sim.predict.model.private")
    module: Any = types.ModuleType("uncompiled_private")
    module.__package__ = compiled.__package__
    exec(inspect.getsource(compiled).replace("@inlined\n", ""), module.__dict__)
    return module


MODEL = _uncompiled()


class Code(types.SimpleNamespace):
    """An instruction as the model sees it."""

    def __init__(self, **fields: int) -> None:
        names = ("predicted", "offset", "conditional", "indirect", "pushes", "pops")
        super().__init__(**dict.fromkeys(names, 0) | fields)


class Warp:
    """One warp whose instructions are decoded ahead of their outcomes, also on wrong paths, as random as ``rng``."""

    def __init__(self, config: SmConfig, rng: random.Random) -> None:
        names = ("return_stack", "jump_targets", "branch_runs", "two_bit")
        sizes = types.SimpleNamespace(learns=1, **{name: getattr(config, name) for name in names})
        two, one = (2, 1, _MOST), (1, TARGETS)
        self._front = front = types.SimpleNamespace(
            stacked=np.zeros((2, 1), int), stack_top=np.zeros((2, 1), int), stack=np.zeros(two, np.int64),
            disagrees=np.zeros(two, int), jump_target=np.zeros(one, np.int64), run_tag=np.zeros(one, int),
            run_next=np.zeros(one, int), run_length=np.zeros((*one, 2), int), run_taken=np.zeros(two, int),
            run_count=np.zeros(two, int), decoded=np.zeros(1, int), predicted3=0, target3=0,
        )
        self._m = types.SimpleNamespace(
            config=[sizes, sizes], front=[front], issue=[types.SimpleNamespace(position=np.zeros(1, int))], part=0
        )
        self._rng = rng
        self._waiting: list[tuple[Code, int, int, int]] = []
        MODEL.reset(self._m, 0)
        assert front.jump_target[0, 0] == NONE

    def run(self, code: Code, pc: int, taken: int, target: int) -> bool:
        """Decode an instruction; return whether its prediction is wrong. Settle some of those before it."""
        while self._waiting and self._rng.random() < 0.4:
            self._settle(wrong=False)
        MODEL.follow(self._m, 0, code, pc)
        front = self._front
        wrong = bool(front.predicted3 != taken or (taken and front.target3 != target))
        self._waiting.append((code, pc, taken, target))
        if wrong:
            for _ in range(self._rng.randrange(3)):
                self._astray()
            while self._waiting:
                self._settle(wrong=len(self._waiting) == 1)
            MODEL.restore(self._m, 0)
        return wrong

    def _settle(self, *, wrong: bool) -> None:
        code, pc, taken, target = self._waiting.pop(0)
        MODEL.settle(self._m, 0, code, pc, taken, target, int(wrong))

    def _astray(self) -> None:
        """Decode an instruction of a wrong path."""
        rng = self._rng
        kinds = (
            {"conditional": 1, "predicted": rng.randrange(2), "offset": 64}, {"indirect": 1, "pops": 1},
            {"pushes": 1, "predicted": 1, "offset": 64}, {"indirect": 1, "pushes": 1},
        )
        MODEL.follow(self._m, 0, Code(**rng.choice(kinds)), 4 * rng.randrange(64))
