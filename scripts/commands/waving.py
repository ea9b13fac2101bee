"""Waveforms among the files of ``--trace`` and ``--output`` (:data:`sim.show.trace.formats.WAVEFORMS`)."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..process.errors import UsageError
from .tracing import Output, TraceFile

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig
    from metronome.sim.run.types import Waves

__all__ = ["check_waveforms", "waved"]

_FULL = "No space left on device"


def check_waveforms(
    files: Sequence[TraceFile], first: int | None, last: int | None, *, also: bool = False
) -> None:
    """Raise UsageError for files that exclude each other, or that cannot be written on this computer.

    ``also``: other files, too, have only the cycles from ``first`` to ``last``.
    """
    kinds = [file.kind for file in files]
    if ".gtkw" in kinds and not {".vcd", ".fst"} & set(kinds):
        raise UsageError("a .gtkw file says how GTKWave shows a waveform: ask for a .vcd or .fst file, too")
    if not files and not also and (first is not None or last is not None):
        raise UsageError(
            "--from and --to are for a figure or a waveform: --output FILE.svg, FILE.pdf, FILE.vcd or FILE.fst"
        )
    for name, cycle in (("--from", first), ("--to", last)):
        if cycle is not None and cycle < 0:
            raise UsageError(f"{name} must be a cycle, from 0 on, not {cycle}")
    if first is not None and last is not None and last < first:
        raise UsageError(f"--to must not be before --from: {last} is before {first}")
    if ".fst" in kinds:
        try:
            import pylibfst  # noqa: F401
        except ImportError:
            raise UsageError("FST needs the package pylibfst: pip install pylibfst, or write a .vcd file") from None


@contextlib.contextmanager
def waved(
    files: Sequence[TraceFile], config: SmConfig, first: int | None = None, last: int | None = None
) -> Iterator[Waves | None]:
    """Yield the dump settings for the simulation and convert the dump to the files at the end; None without files.

    However the run ends, the files contain all that was dumped until then. If one cannot be written, no part is left.
    """
    if not files:
        yield None
        return
    from metronome.sim.run.types import SimulationError, Waves

    with contextlib.ExitStack() as stack:
        outputs = [stack.enter_context(contextlib.closing(Output(file.path))) for file in files]
        with outputs[0].errors():
            dump = Path(stack.enter_context(
                tempfile.NamedTemporaryFile(prefix=f".{files[0].path.name}.", suffix=".dump", dir=outputs[0].folder)
            ).name)
        try:
            yield Waves(path=dump, first=first, last=last)
        except UsageError:
            raise
        except SimulationError as error:
            if _FULL in str(error):
                raise UsageError(f"cannot write {files[0].path}: {_FULL}") from None
            _make(files, outputs, dump, config, broken=True)
            raise
        except BaseException:
            _make(files, outputs, dump, config, broken=True)
            raise
        _make(files, outputs, dump, config, broken=False)


def _make(files: Sequence[TraceFile], outputs: Sequence[Output], dump: Path, config: SmConfig, *, broken: bool) -> None:
    from metronome.sim.build.simulator import build
    from metronome.sim.show.waves.fst import enumerations_of, write_fst
    from metronome.sim.show.waves.savefile import write_savefile
    from metronome.sim.show.waves.vcd import Vcd, cut_unfinished

    if broken:
        if not dump.stat().st_size:
            return  # nothing was run: the file of an earlier run stays
        cut_unfinished(dump)
    shown = next((file.path for file in files if file.kind != ".gtkw"), files[0].path)
    for file, output in zip(files, outputs, strict=True):
        with output.errors(), dump.open("rb") as source:
            if file.kind == ".vcd":
                shutil.copyfileobj(source, output.file)
            elif file.kind == ".gtkw":
                text = io.TextIOWrapper(output.file, encoding="utf-8", write_through=True)
                write_savefile(shown, Vcd(source), text)
                text.detach()
            else:
                verilog = build(config, waves=True).executable.with_name("metronome_sm.v").read_text()
                write_fst(source, output.part, enumerations_of(verilog))
        output.put_in_place()
