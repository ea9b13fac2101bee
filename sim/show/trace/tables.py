"""Events as CSV and Parquet."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
import pyarrow
from pyarrow import csv, parquet

from metronome.hdl.config import LINE_BYTES, SmConfig

from ...build.origin import metadata
from ...machine.events import NONE
from .about import About
from .cycles import Cycles
from .rows import DETAILS, Kind, Rows

__all__ = ["CsvTrace", "ParquetTrace"]

_WORD = pyarrow.dictionary(pyarrow.int8(), pyarrow.string())
#: Columns with numbers, and the field of ROW for each.
_NUMBERS = {
    "sm": ("sm", pyarrow.int8()),
    "warp": ("warp", pyarrow.int8()), "partition": ("partition", pyarrow.int8()), "pc": ("pc", pyarrow.uint32()),
    "instruction": ("word", pyarrow.uint32()), "lanes": ("lanes", pyarrow.uint32()),
    "address": ("line", pyarrow.uint32()), "tag": ("tag", pyarrow.int16()), "register": ("register", pyarrow.int8()),
}
#: Columns that are hexadecimal in CSV.
_HEXADECIMAL = ("pc", "instruction", "lanes", "address")
#: Rows in one row group of a Parquet file.
_GROUP = 1 << 17


@functools.cache
def _words() -> tuple[pyarrow.Array, pyarrow.Array]:
    """The names of kinds and of details, as arrays; the first array made imports pandas if it is installed."""
    return pyarrow.array([kind.name.lower() for kind in Kind]), pyarrow.array(DETAILS)


def _schema(config: SmConfig, *, as_text: bool, of_sms: bool) -> pyarrow.Schema:
    """The columns; a machine with one scheduler has no column ``partition``, and one SM no column ``sm``."""
    there = {"partition": config.schedulers > 1, "sm": of_sms}
    numbers = [(name, kind) for name, (_, kind) in _NUMBERS.items() if there.get(name, True)]
    columns = [("cycle", pyarrow.int64()), ("event", _WORD), *numbers, ("detail", _WORD)]
    if as_text:
        columns = [
            (name, pyarrow.string() if name in _HEXADECIMAL or kind == _WORD else kind) for name, kind in columns
        ]
    return pyarrow.schema(columns)


def _numbers(rows: np.ndarray, schema: pyarrow.Schema) -> dict[str, np.ndarray]:
    """The columns with numbers; NONE where there is no value."""
    numbers = {
        name: rows[field].astype(np.int64) for name, (field, _) in _NUMBERS.items() if name in schema.names
    }
    # 32 bits are enough for an address: the lines are those of the SM's memory port.
    numbers["address"] = np.where(rows["line"] == NONE, NONE, rows["line"] * LINE_BYTES)
    return numbers


def _hexadecimal(numbers: np.ndarray) -> pyarrow.Array:
    """Return text with 8 digits; each distinct number is formatted once, since few numbers occur often."""
    values, places = np.unique(numbers, return_inverse=True)
    words = pyarrow.array([None if value == NONE else f"0x{value:08x}" for value in values.tolist()], pyarrow.string())
    return words.take(pyarrow.array(places))


class _Table:
    """Rows as a table, written in parts. ``sink`` is a binary file; it contains nothing ``about`` the run."""

    #: Whether words and hexadecimal numbers are text.
    _as_text = False

    def __init__(self, config: SmConfig, sink: IO[bytes], about: About, *, of_sms: bool = False) -> None:
        self._rows, self._sink = Rows(config), sink
        self._schema = _schema(config, as_text=self._as_text, of_sms=of_sms)
        self._writer: Any = None

    def begin(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        if self._writer is not None:
            self._writer.close()  # now, not at garbage collection, because it writes the end of the file
        self._sink.seek(0)
        self._sink.truncate()
        self._open()

    def take(self, partitions: Sequence[Cycles]) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        self.write(self._rows.of(partitions))

    def finish(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        self._writer.close()

    def _open(self) -> None:
        raise NotImplementedError

    def write(self, rows: np.ndarray) -> None:
        """Write rows (:data:`.rows.ROW`)."""
        raise NotImplementedError


class CsvTrace(_Table):
    """CSV: one line per row, with empty fields where a value does not apply; addresses, words, masks in hexadecimal."""

    _as_text = True

    def _open(self) -> None:
        # pyarrow's own header has quotes.
        self._sink.write(f"{','.join(self._schema.names)}\n".encode())
        options = csv.WriteOptions(quoting_style="none", include_header=False)
        self._writer = csv.CSVWriter(self._sink, self._schema, write_options=options)

    def write(self, rows: np.ndarray) -> None:
        """See :class:`_Table`."""
        columns = {
            name: _hexadecimal(numbers) if name in _HEXADECIMAL
            else pyarrow.array(numbers, _NUMBERS[name][1], mask=numbers == NONE, safe=False)
            for name, numbers in _numbers(rows, self._schema).items()
        }
        none = rows["detail"] == NONE
        kinds, details = _words()
        columns |= {
            "cycle": pyarrow.array(rows["cycle"]), "event": kinds.take(pyarrow.array(rows["kind"])),
            "detail": details.take(pyarrow.array(rows["detail"], mask=none)),
        }
        self._writer.write_table(pyarrow.table([columns[name] for name in self._schema.names], schema=self._schema))


class ParquetTrace(_Table):
    """Parquet: the same columns as numbers; event and detail are dictionaries."""

    def _open(self) -> None:
        self._writer = parquet.ParquetWriter(self._sink, self._schema.with_metadata(metadata()))
        self._waiting: list[np.ndarray] = []
        self._count = 0

    def write(self, rows: np.ndarray) -> None:
        """See :class:`_Table`."""
        self._waiting.append(rows)
        self._count += len(rows)
        if self._count < _GROUP:
            return
        # Groups of one size, however the rows arrive, so that the same rows give the same file.
        rows = np.concatenate(self._waiting)
        whole = len(rows) // _GROUP * _GROUP
        for first in range(0, whole, _GROUP):
            self._write_group(rows[first : first + _GROUP])
        self._waiting, self._count = [rows[whole:]], len(rows) - whole

    def finish(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        if self._count:
            self._write_group(np.concatenate(self._waiting))
        super().finish()

    def _write_group(self, rows: np.ndarray) -> None:
        columns = {
            name: pyarrow.array(numbers, _NUMBERS[name][1], mask=numbers == NONE, safe=False)
            for name, numbers in _numbers(rows, self._schema).items()
        }
        kinds, details = _words()
        columns |= {
            "cycle": pyarrow.array(rows["cycle"]),
            "event": pyarrow.DictionaryArray.from_arrays(rows["kind"], kinds),
            "detail": pyarrow.DictionaryArray.from_arrays(
                pyarrow.array(rows["detail"], mask=rows["detail"] == NONE), details),
        }
        self._writer.write_table(pyarrow.table([columns[name] for name in self._schema.names], schema=self._schema))
