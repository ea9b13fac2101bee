"""The results of a sweep: a folder with a Parquet file a run, written as soon as the run has ended.

``runs/*.parquet`` is a data set that pandas, polars and DuckDB read as one table; ``sweep.json`` says what was asked
for. A file is there whole or not at all, so that a sweep that was killed goes on where it was.
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

from .rows import TIMES, schema

__all__ = ["Results", "ResultsError"]

_ABOUT, _RUNS, _LOCK = "sweep.json", "runs", ".lock"
_FORMAT = 1


class ResultsError(ValueError):
    """A folder of results that cannot be used; one line."""


class Results:
    """The results in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def open(cls, folder: Path) -> Results:
        """What is there, to be read.

        Raises
        ------
        ResultsError
            If it is no folder of results.
        """
        results = cls(folder)
        results.about()
        return results

    def about(self) -> dict[str, Any]:
        """``sweep.json``: name, title, about, spec (its text) and runs (in order, key -> title)."""
        path = self.folder / _ABOUT
        try:
            about = json.loads(path.read_text("utf-8"))
        except OSError as error:
            raise ResultsError(
                f"{self.folder}: no results of metronome sweep: cannot read {_ABOUT}: {error.strerror}"
            ) from None
        except ValueError:
            about = None
        if not isinstance(about, dict) or about.get("format") != _FORMAT:
            raise ResultsError(f"{path}: it is not what metronome sweep has written: name another folder")
        return about

    def begin(self, about: Mapping[str, Any]) -> set[str]:
        """Make the folder ready for a sweep, and return the keys of the runs that are already there.

        Raises
        ------
        ResultsError
            If the folder holds something else, or results that are not among the runs asked for.
        """
        try:
            if self.folder.exists() and not (self.folder / _ABOUT).exists() and any(self.folder.iterdir()):
                raise ResultsError(f"{self.folder}: there are other files in it: name a new folder with --output")
            (self.folder / _RUNS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ResultsError(f"{self.folder}: cannot be used for results: {error.strerror}") from None
        if (self.folder / _ABOUT).exists():
            self.about()
        there = {path.stem for path in (self.folder / _RUNS).glob("[!.]*.parquet")}
        others = there - set(about["runs"])
        if others:
            raise ResultsError(
                f"{self.folder}: {len(others)} of its {len(there)} results are of another sweep, or of other sources "
                "of the machine or a kernel: name another folder with --output, or delete this one"
            )
        for left in (self.folder / _RUNS).glob(".*.part"):  # of one that was killed
            left.unlink()
        self._write(self.folder / _ABOUT, (json.dumps({"format": _FORMAT, **about}, indent=1) + "\n").encode())
        return there

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else writes to the folder during the block. Raises ResultsError if somebody does."""
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
        table = pa.Table.from_pylist([dict(row)], schema=schema())
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        self._write(self.folder / _RUNS / f"{row['run']}.parquet", sink.getvalue().to_pybytes())

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

    def table(self, *, times: bool = True) -> pa.Table:
        """All rows in the order of the sweep; without ``times`` the same for every sweep of the same runs."""
        rows = []
        for key in self.about()["runs"]:
            path = self.folder / _RUNS / f"{key}.parquet"
            try:
                rows.append(pq.read_table(path, schema=schema()))
            except FileNotFoundError:
                continue
            except (OSError, pa.ArrowException) as error:
                raise ResultsError(f"{path}: it cannot be read: {error}: delete it and sweep again") from None
        table = pa.concat_tables(rows) if rows else schema().empty_table()
        return table if times else table.drop_columns(list(TIMES))
