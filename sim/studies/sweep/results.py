"""The results of a sweep: a folder with one Parquet file per run, written as soon as the run has ended.

``runs/*.parquet`` is a data set that pandas, polars and DuckDB read as one table; ``sweep.json`` describes the sweep
that was requested. Each file is written atomically, so that a sweep that was killed can resume where it stopped.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ...build.origin import metadata, origin, read_metadata
from .rows import FAILED, TIMES, schema

__all__ = ["Results", "ResultsError"]

_ABOUT, _RUNS = "sweep.json", "runs"
_FORMAT = 1
#: The maximum number of neighbouring results named if a folder holds none.
_MOST_OTHERS = 5


def _is_about(about: Mapping[str, Any]) -> bool:
    """Whether this is a sweep's description of itself."""
    runs = about.get("runs")
    return all(isinstance(about.get(name), str) for name in ("name", "title", "about", "spec")) and (
        isinstance(runs, dict) and all(isinstance(title, str) for title in runs.values())
    )


class ResultsError(ValueError):
    """The folder of results cannot be used; the text is one line."""


class Results:
    """The results in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def open(cls, folder: Path) -> Results:
        """Open an existing folder for reading.

        Raises
        ------
        ResultsError
            If it is not a folder of results.
        """
        results = cls(folder)
        results.about()
        return results

    def _others_here(self) -> str:
        """Name the results beside this folder, in case the user meant another folder or another engine's results."""
        with contextlib.suppress(OSError):
            found = sorted(path.parent.name for path in self.folder.parent.glob(f"*/{_ABOUT}"))
            found = [name for name in found if name.startswith(self.folder.name)] or found
            return f"; there are {', '.join(found[:_MOST_OTHERS])}" if found else ""
        return ""

    def about(self) -> dict[str, Any]:
        """``sweep.json``: name, title, about, spec (its text) and runs (in order, key -> title)."""
        path = self.folder / _ABOUT
        try:
            about = json.loads(path.read_text("utf-8"))
        except OSError as error:
            raise ResultsError(
                f"{self.folder}: no results of metronome sweep: cannot read {_ABOUT}: {error.strerror}"
                + self._others_here()
            ) from None
        except ValueError:
            about = None
        if not isinstance(about, dict) or about.get("format") != _FORMAT or not _is_about(about):
            raise ResultsError(f"{path}: metronome sweep did not write it: name another folder")
        return about

    def owns(self, path: Path) -> bool:
        """Whether a file with this path would be one of the results, or lie among them."""
        runs, path = (self.folder / _RUNS).resolve(), path.resolve()
        return path == (self.folder / _ABOUT).resolve() or path.is_relative_to(runs)

    def require_usable(self) -> None:
        """Raise ResultsError if the folder holds something else."""
        try:
            if (self.folder / _ABOUT).exists():
                self.about()
            # A sweep that was killed when it started leaves these two.
            elif self.folder.exists() and {path.name for path in self.folder.iterdir()} - {_RUNS, f".{_ABOUT}.part"}:
                raise ResultsError(f"{self.folder}: it contains other files: name a new folder with --output")
        except OSError as error:
            raise ResultsError(f"{self.folder}: cannot be used for results: {error.strerror}") from None

    def begin(self, about: Mapping[str, Any], *, forget: bool = False) -> set[str]:
        """Prepare the folder for a sweep, and return the keys of the runs that need not be repeated.

        Raises
        ------
        ResultsError
            If the folder holds something else, or results that are not among the requested runs; with ``forget``
            these are deleted.
        """
        there = self.done(about, forget=forget)
        try:
            (self.folder / _RUNS).mkdir(parents=True, exist_ok=True)
            others = [path for key, path in self._files().items() if key not in about["runs"]]
            for left in [*others, *(self.folder / _RUNS).glob(".*.part")]:  # files of a sweep that was killed
                left.unlink()
        except OSError as error:
            raise ResultsError(f"{self.folder}: cannot be used for results: {error.strerror}") from None
        document = {"format": _FORMAT, **about, "origin": origin()}
        self._write(self.folder / _ABOUT, (json.dumps(document, indent=1) + "\n").encode())
        return there

    def done(self, about: Mapping[str, Any], *, forget: bool = False) -> set[str]:
        """Return the keys of the runs not to be repeated: those with a result, unless they could not be simulated.

        Raises as :meth:`begin`, and if a result is damaged. It does not change the folder.
        """
        self.require_usable()
        files = self._files()
        others = files.keys() - set(about["runs"])
        if others and not forget:
            raise ResultsError(
                f"{self.folder}: {len(others)} of its {len(files)} results are of another sweep, or of another version "
                "of a kernel, its inputs or the machine: name another folder with --output, or delete them with "
                "--forget-others"
            )
        return {key for key in files.keys() - others if self._row(key)["status"][0].as_py() != FAILED}

    def _files(self) -> dict[str, Path]:
        return {path.stem: path for path in (self.folder / _RUNS).glob("[!.]*.parquet")}

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder against other writers during the block. Raises ResultsError if it is already locked."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.folder, os.O_RDONLY)
        except OSError as error:
            raise ResultsError(f"{self.folder}: cannot be used for results: {error.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise ResultsError(f"{self.folder}: another metronome sweep is writing there") from None
        finally:
            os.close(descriptor)

    def add(self, row: Mapping[str, Any]) -> None:
        """Write the row of a finished run."""
        table = pa.Table.from_pylist([dict(row)], schema=schema().with_metadata(metadata()))
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        self._write(self._file(row["run"]), sink.getvalue().to_pybytes())

    def _write(self, path: Path, data: bytes) -> None:
        temporary = path.with_name(f".{path.name}.part")
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError as error:
            raise ResultsError(f"cannot write {path}: {error.strerror}") from None

    def _file(self, key: str) -> Path:
        return self.folder / _RUNS / f"{key}.parquet"

    def _row(self, key: str) -> pa.Table:
        """Return the table of one row. Raises ResultsError if the file is damaged."""
        path = self._file(key)
        try:
            # As a file, not as a data set, which would also read a folder and add missing columns. And in this thread,
            # because a pyarrow thread that releases a Python object while Python exits aborts it (apache/arrow#34314).
            table = pq.ParquetFile(pa.BufferReader(path.read_bytes())).read(use_threads=False)
        except (OSError, pa.ArrowException) as error:
            reason = " ".join(str(getattr(error, "strerror", None) or error).split())
            raise ResultsError(f"{path}: it cannot be read ({reason}): delete it and sweep again") from None
        if not table.schema.equals(schema()) or table["run"].to_pylist() != [key]:
            raise ResultsError(f"{path}: it is not the result of its run: delete it and sweep again")
        return table

    def origins(self) -> list[dict[str, Any] | None]:
        """The origin of each result (:mod:`sim.build.origin`); None for one without an origin.

        A file that cannot be read has no origin; reading its row raises the error.
        """
        found = []
        for path in self._files().values():
            try:
                found.append(read_metadata(pq.read_schema(path).metadata))
            except (OSError, pa.ArrowException):
                continue
        return found

    def table(self, *, times: bool = True) -> pa.Table:
        """Return all rows in the order of the sweep; without ``times``, the same for every sweep of the same runs."""
        rows = [self._row(key) for key in self.about()["runs"] if self._file(key).exists()]
        table = pa.concat_tables(rows) if rows else schema().empty_table()
        return table if times else table.drop_columns(list(TIMES))
