"""The results of the functions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from metronome.sim.machine.settings import near

from ..commands.predicting import fields_of
from ..commands.result import Outcome, notes_on
from ..commands.wcet import Bounded
from .checking import checked

if TYPE_CHECKING:
    import numpy as np

    from metronome.sim.predict.gpu.predictor import GpuPrediction
    from metronome.sim.predict.predictor import Prediction as Predicted

__all__ = ["BoundResult", "Prediction", "Result"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """A finished run. Times are in cycles.

    - ``passed``: whether the program ended by itself with a correct result, and no check complained.
    - ``status``: ``ended``, ``fault``, ``hang`` (the cycle limit), ``deadlock``, ``mismatch`` or ``assertion``.
    - ``cycles``: of the measured region; None if the program never opened it. ``total_cycles``: from launch to end.
    - ``counters``: the counters of docs/counters.md by name. ``stalls`` is a dict of its own.
    - ``complaints``: why the run did not pass, one line each. ``warnings``: the compiler's, and notes on the run.
    - ``console``: the output of the program.
    - ``sms``: the counters of each SM if there are several; else empty.
    - ``outcome``: the request and all else that is known of the run (:class:`scripts.commands.result.Outcome`).
    """

    passed: bool
    status: str
    cycles: int | None
    total_cycles: int
    counters: Mapping[str, Any]
    complaints: tuple[str, ...]
    warnings: tuple[str, ...]
    console: str = dataclasses.field(repr=False)
    sms: tuple[Mapping[str, Any], ...] = dataclasses.field(repr=False)
    outcome: Outcome = dataclasses.field(repr=False)

    @classmethod
    def _of(cls, outcome: Outcome, warnings: Iterable[str], **more: Any) -> Any:
        return cls(
            passed=outcome.passed, status=str(outcome.result.status), cycles=outcome.cycles,
            total_cycles=outcome.result.total_cycles, counters=outcome.counted(),
            complaints=tuple(outcome.complaints()), warnings=(*warnings, *notes_on(outcome)),
            console=outcome.result.console, sms=tuple(getattr(outcome.result, "sm_counters", ())), outcome=outcome,
            **more,
        )

    @checked
    def read(self, name: str) -> bytes:
        """Return the bytes of a kernel's buffer, or of a symbol of the program, after the run.

        Raises
        ------
        KeyError
            If the program has no such name.
        """
        places = self._places()
        if name not in places:
            names = list(self.outcome.launch.buffers) or list(places)
            shown = ", ".join(names[:12]) + ", ..." * (len(names) > 12)
            raise KeyError(f"no buffer or symbol {name!r}{near(name, places)}: use {shown}, or see names()")
        return self.outcome.result.memory.read(*places[name])

    def names(self) -> list[str]:
        """Return the names that :meth:`read` takes: first the buffers of a kernel, then the symbols."""
        return list(self._places())

    def _places(self) -> dict[str, tuple[int, int]]:
        launch = self.outcome.launch
        buffers = {name: (place, len(data)) for name, (place, data) in launch.buffers.items()}
        return buffers | {name: place for name, place in launch.image.symbols.items() if name not in buffers}

    def as_json(self) -> dict[str, Any]:
        """Return the JSON of the command (docs/command-line.md), without ``origin``."""
        return self.outcome.as_json()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prediction(Result):
    """A predicted run.

    - ``issued``: a structured array with ``cycle``, ``warp`` and ``pc`` of every issue; a NOP has a ``pc`` below 0.
      With several SMs it also has ``sm``.
    - ``finishes``: the cycle of each warp's last instruction; None for a warp that never ran. Of several SMs, those of
      SM 0 come first.
    - ``prediction``: all else that is known (:class:`sim.predict.predictor.Prediction`, or
      :class:`sim.predict.gpu.predictor.GpuPrediction`).
    """

    issued: np.ndarray = dataclasses.field(repr=False)
    finishes: tuple[int | None, ...]
    prediction: Predicted | GpuPrediction = dataclasses.field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """See :meth:`Result.as_json`."""
        return super().as_json() | fields_of(self.prediction, self.finishes)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BoundResult:
    """A bound on the execution time.

    - ``cycles``: no run takes more, from launch to end. ``exact``: every run takes exactly this many.
    - ``parts``: the cycles by cause. ``loops``: the most passes of each loop for each entry, by the pc of its header.
    - ``assumptions``: the assumptions of the bound, one line each.
    - ``observed``: the longest of the runs that ``observe`` asked for; None without them.
    - ``complaint``: how a run contradicts the bound or a flow fact; None if none does. ``warnings``: notes on it.
    - ``found``: the request and all else that is known of the bound (:class:`scripts.commands.wcet.Bounded`).
    """

    cycles: int
    exact: bool
    parts: Mapping[str, int]
    loops: Mapping[int, int]
    assumptions: tuple[str, ...]
    observed: int | None
    complaint: str | None
    warnings: tuple[str, ...]
    found: Bounded = dataclasses.field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON of ``metronome wcet`` (docs/wcet.md), without ``origin``."""
        return self.found.as_json()
