"""Work of ``metronome synth`` on one unit: measure it, show and write the figures, and report missing ones."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType

from metronome.hdl.config import SmConfig
from metronome.hdl.gpu.config import GpuConfig

from ..output.outputs import STDOUT, write_file, write_json
from ..process.errors import Exit, UsageError
from ..process.progress import show_progress
from ..process.terminal import Console
from .synth_tables import clocked, compared, not_routed, parts

if TYPE_CHECKING:
    from metronome.sim.fpga.synth import Options, Target
    from metronome.sim.fpga.synth.committed import UnitRow

__all__ = ["Work"]


@dataclasses.dataclass(frozen=True)
class Work:
    """One unit of one machine, and the destination of its results."""

    unit: str
    config: SmConfig | GpuConfig
    json_file: str | None
    target: Path | None
    log: Path | None
    asked: dict[str, object]
    fpga: Target

    def break_down(self, depth: int, cells: bool) -> int:
        """Carry out ``--breakdown``."""
        from metronome.sim.fpga import synth as tools

        with self._refusing(), show_progress() as progress:
            kind = tools.Cells if cells else tools.Area
            found = tools.breakdown(self.unit, self.config, depth, progress, kind)
        rows = [{"part": part.path, **dataclasses.asdict(part.area)} for part in found.parts]
        self._keep_logs([found.log])
        document = {"unit": self.unit, "parts": rows, "log": str(found.log)}
        self._write(document, {"depth": depth}, parts(self.unit, found.parts))
        return Exit.PASSED

    def measure(self, options: Sequence[Options], cells: bool, row: UnitRow | None, striven: float | None) -> int:
        """Measure area, and clock rate for each of ``options``; compare with ``row`` and the target ``striven`` (MHz).

        Returns
        -------
        The exit status. A missing clock rate is worse than a larger area, and that is worse than a clock rate missed.
        """
        from metronome.sim.fpga.synth import committed
        from metronome.sim.fpga.synth import synthesize as run

        with self._refusing(), show_progress() as progress:
            result = run(self.unit, self.config, options, progress, cells=cells, target=self.fpga)
        document, shown = result.as_json(), [clocked(result, self.fpga)]
        problems = list(not_routed(result))
        status = Exit.NOT_ROUTED if options and result.best is None else Exit.PASSED
        if row is not None:
            found = committed.differences(result, row, options[0].freq if options else None)
            grown, other = committed.grown(found), committed.other_tools(row)
            document |= {"committed": [each.as_json() for each in found], "committed_tools": dict(row.tools)}
            shown.append(Group(compared(found), *(f"another version: {line}" for line in other)))
            problems += grown
            status = status or (Exit.CHECK_FAILED if grown else Exit.PASSED)
        if striven is not None and result.best is not None and (result.best.fmax_mhz or 0) < striven:
            problems.append(f"{striven:g} MHz requested, {result.best.fmax_mhz} MHz reached")
            status = status or Exit.TOO_SLOW
        self._keep_logs([result.log, *(route.log for route in result.routes)])
        used: dict[str, Any] = {"seeds": [one.seed for one in options]}
        if options:
            used |= {"freq": options[0].freq, "minutes": options[0].minutes}
        self._write(document, used, Group(*shown))
        for line in problems:
            print(f"metronome: {line}", file=sys.stderr)
        return status

    @contextlib.contextmanager
    def _refusing(self) -> Iterator[None]:
        """Report a failed synthesis as one line with the end of the log; the --log file has all of it."""
        from metronome.sim.fpga.synth import SynthesisError

        try:
            yield
        except SynthesisError as error:
            if self.log is not None:
                write_file(self.log, error.log.encode())
            raise UsageError(str(error)) from error

    def _keep_logs(self, files: Iterable[Path | None]) -> None:
        """Concatenate the logs into the file of --log."""
        if self.log is not None:
            there = [file for file in files if file is not None]
            write_file(self.log, b"".join(f"==== {file}\n".encode() + file.read_bytes() for file in there))

    def _write(self, document: dict[str, Any], used: dict[str, Any], shown: RenderableType) -> None:
        if self.json_file is not None:
            write_json(self.target, {**document, "config": {**self.asked, **used}})
        if self.json_file != STDOUT:
            Console().print(shown, highlight=False)
