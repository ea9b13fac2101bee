"""Work of ``metronome board``: write a bitstream, or run a program on a board, and report the result."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from ..options.machine import Machine
from ..options.schemes import Scheme
from ..output.export_folder import Kind, write_folder
from ..output.outputs import STDOUT, write_json
from ..output.tables import new_table
from ..process.errors import Exit, UsageError
from ..process.progress import print_console, show_progress
from ..process.terminal import Console
from .result import Outcome, add_counters, not_measured

if TYPE_CHECKING:
    from metronome.sim.fpga.board.bitstream import Bitstream
    from metronome.sim.fpga.board.design import BoardDesign
    from metronome.sim.fpga.board.pipe import PipeTransport
    from metronome.sim.fpga.board.serial_port import SerialTransport
    from metronome.sim.program.kernels import Launch

__all__ = ["NEVER_TRIED", "SIMULATED", "Bitstreams", "BoardWork", "Runs"]

#: Values of --port for simulated boards.
SIMULATED = ("rtl", "netlist")
NEVER_TRIED = "no bitstream of this program has ever been tried on a real board, only in simulation (docs/board.md)"


@dataclasses.dataclass(frozen=True)
class BoardWork:
    """The requested work, and the destination of the JSON."""

    asked: Machine
    scheme: Scheme
    design: BoardDesign
    json_file: str | None
    target: Path | None

    def say(self, document: dict[str, Any], shown: object) -> None:
        """Print the JSON if it was requested, and the table unless the JSON goes to standard output."""
        if self.json_file is not None:
            write_json(self.target, document)
        if self.json_file != STDOUT:
            Console().print(shown, highlight=False)
        sys.stdout.flush()

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Report an error of a tool or of the serial line in one line."""
        from metronome.sim.build.simulator import BuildError
        from metronome.sim.fpga.board.link import BoardError
        from metronome.sim.fpga.synth import SynthesisError

        try:
            yield
        except (BoardError, BuildError, SynthesisError) as error:
            raise UsageError(str(error)) from error


def _complain(line: str) -> None:
    print(f"metronome: {line}", file=sys.stderr)


@dataclasses.dataclass(frozen=True)
class Bitstreams:
    """``--output``."""

    work: BoardWork
    folder: Path

    kind = Kind("metronome board", ("board.json",))

    def write(self, seeds: list[int], minutes: float, launch: Launch | None) -> int:
        """Place and route from successive seeds until one meets the clock; write the folder.

        Returns
        -------
        The exit status. Nothing is written if no seed was routed.
        """
        from metronome.sim.fpga.board.bitstream import bitstream, options_of
        from metronome.sim.fpga.board.folder import board_files

        made: list[Bitstream] = []
        design = self.work.design
        with self.work.refusing(), show_progress() as progress:
            for seed in seeds:
                made.append(bitstream(design, options_of(seed=seed, minutes=minutes), progress))
                if made[-1].in_time:
                    break
            best = max(made, key=lambda each: each.fmax_mhz or 0.0)
            files = {} if best.file is None else board_files(design, best, launch, preset=self.work.asked.preset)
        tried = [{"seed": each.seed, "fmax_mhz": each.fmax_mhz, "problem": each.problem} for each in made]
        if files:
            write_folder(self.folder, files, self.kind)
        self.work.say(
            {"output": str(self.folder) if files else None, **best.as_json(), "seeds": tried,
             "logs": [str(path) for path in best.logs], "baud": design.baud,
             "config": dataclasses.asdict(design.config), "tried_on_a_board": False},
            self._table(best, tried),
        )
        _complain(f"note: {NEVER_TRIED}")
        if not files:
            _complain(f"not routed, and nothing written: {best.problem}: try other --seeds, or more --minutes")
            return Exit.NOT_ROUTED
        if not best.in_time:
            _complain(f"the design is too slow for the board's clock: {design.clock_mhz:g} MHz requested, "
                      f"{best.fmax_mhz} MHz reached; results of the bitstream in the folder may be wrong: try other "
                      "--seeds")
            return Exit.TOO_SLOW
        return Exit.PASSED

    def _table(self, best: Bitstream, tried: list[dict[str, Any]]) -> object:
        table = new_table("", ">", title=f"{escape(self.work.asked.title)} on ULX3S (LFE5U-85F)")
        area = best.area
        for name, count in (("LUTs", area.luts), ("flip-flops", area.ffs), ("block RAMs", area.brams),
                            ("multipliers", area.dsps)):
            table.add_row(name, str(count))
        for each in tried:
            rate = each["problem"] if each["fmax_mhz"] is None else f"{each['fmax_mhz']} MHz"
            table.add_row(f"clock rate, seed {each['seed']}", rate)
        table.add_row("clock rate of the board", f"{self.work.design.clock_mhz:g} MHz")
        table.add_row("folder", escape(str(self.folder)) if best.file is not None else "not written")
        return table


@dataclasses.dataclass(frozen=True)
class Runs:
    """``--port``."""

    work: BoardWork
    port: str

    def run(self, launch: Launch, seed: int, max_cycles: int) -> int:
        """Run a program, check and show its result; return the exit status of ``metronome run``."""
        from metronome.sim.fpga.board.host import Board
        from metronome.sim.fpga.board.link import Link
        from metronome.sim.run.types import RunRequest

        design, scheme = self.work.design, self.work.scheme
        request = RunRequest(
            launch=launch, policy=scheme.issue, fetch_policy=scheme.fetch, seed=seed, max_cycles=max_cycles
        )
        with self.work.refusing(), show_progress() as progress, contextlib.closing(
            Link(self._transport(progress))
        ) as link:
            board = Board(link, design.config)
            result = board.run(request, on_console=print_console, progress=progress)
            outcome = Outcome(
                machine=self.work.asked, config=design.config, launch=launch, request=request, result=result
            )
            outcome.problems  # noqa: B018 the results are read while the board is connected
        table = self._table(outcome, board.facts.clock_hz)
        self.work.say(self._document(outcome, board.facts.clock_hz), table)
        for line in outcome.complaints():
            _complain(line)
        if self.port not in SIMULATED:
            _complain(f"note: {NEVER_TRIED}: report what you see")
        return outcome.exit_status

    def _transport(self, progress: Any) -> PipeTransport | SerialTransport:
        if self.port in SIMULATED:
            from metronome.sim.fpga.board.simulation import simulated

            return simulated(self.work.design, progress, netlist=self.port == "netlist")
        from metronome.sim.fpga.board.serial_port import SerialTransport

        return SerialTransport(self.port, self.work.design.baud)

    def _document(self, outcome: Outcome, clock_hz: int) -> dict[str, Any]:
        launch, result = outcome.launch, outcome.result
        return {
            "kernel": launch.name, "port": self.port, "simulated": self.port in SIMULATED,
            "passed": outcome.passed, "status": result.status, "problems": outcome.problems,
            "exit_code": result.exit_code, "fault": outcome.fault(), **outcome.counted(), **outcome.rates(),
            "clock_hz": clock_hz, "baud": self.work.design.baud,
            "config": {
                "preset": self.work.asked.preset, "set": dict(self.work.asked.settings),
                "issue": self.work.scheme.issue, "fetch": self.work.scheme.fetch, "type": launch.dtype,
                "size": launch.size, "seed": outcome.request.seed, "max_cycles": outcome.request.max_cycles,
                **dataclasses.asdict(outcome.config),
            },
        }

    def _table(self, outcome: Outcome, clock_hz: int) -> object:
        launch, config, result = outcome.launch, outcome.config, outcome.result
        what = {"rtl": "ULX3S in simulation", "netlist": "ULX3S in simulation, as cells"}.get(self.port, "ULX3S")
        title = f"{launch.name} on {what} ({config.warps} warps x {config.threads} threads)"
        table = new_table("", ">", title=escape(title))
        passed = outcome.exit_status == Exit.PASSED
        table.add_row("result", "[green]passed[/]" if passed else f"[red]{outcome.exit_status.name.lower()}[/]")
        table.add_row("program", "-" if launch.size is None else f"{launch.dtype}, size {launch.size}")
        table.add_row("policy", f"{self.work.scheme.issue}, prediction {config.prediction}")
        table.add_row("checked", "exit code only" if launch.size is None else "result only")
        table.add_section()
        seconds = result.total_cycles / clock_hz
        table.add_row("total cycles", f"{result.total_cycles}, {1e3 * seconds:.3f} ms at {clock_hz / 1e6:g} MHz")
        cycles = outcome.cycles
        if cycles is None:
            table.add_row("cycles", not_measured(launch, config))
        else:
            add_counters(table, outcome, cycles)
        return table
