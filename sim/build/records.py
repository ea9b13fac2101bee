"""The records that pass from the simulation to Python: their layouts, and numpy decoding of whole arrays of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from amaranth.hdl import Shape
from amaranth.lib import data

from metronome.hdl.config import LINE_NUMBER_BITS, SmConfig
from metronome.hdl.layouts.counters import REASON_BITS, counters_layout
from metronome.hdl.layouts.execute import fault_layout
from metronome.hdl.layouts.probe import ASSERTIONS, passed_over_layout, probe_layout

__all__ = ["FieldReader", "decode_records", "flatten", "layout_dtype", "record_layout", "record_words", "status_layout"]

#: Words of the cycle number before the probe in every record.
_CYCLE_WORDS = 2


def status_layout(config: SmConfig) -> data.StructLayout:
    """The status that tb/top.sv reports when a program has stopped."""
    return data.StructLayout({
        "ended": 1,
        "deadlock": 1,
        "fault_valid": 1,
        "fault": fault_layout(config),
        "active": config.warps,
        "hang": data.ArrayLayout(REASON_BITS, config.warps),
        "hang_pc": data.ArrayLayout(32, config.warps),
        "passed_over": passed_over_layout(config),
        "counters": counters_layout(),
        "assertions": len(ASSERTIONS),
    })


def record_layout(config: SmConfig) -> data.StructLayout:
    """One cycle as tb/top.sv sees it: the probe, and in ``port`` the transfers on the SM's memory port."""
    tag = config.mem_tag_bits
    return data.StructLayout({
        **{name: field.shape for name, field in probe_layout(config)},
        # Memory accepts a request; the SM accepts an answer.
        "port": data.StructLayout({
            "request": 1, "tag": tag, "line": LINE_NUMBER_BITS, "write": 1,
            "answer": 1, "answer_tag": tag, "error": 1,
        }),
    })


def record_words(config: SmConfig) -> int:
    """32-bit words of one record: the cycle (64 bits), then :func:`record_layout`."""
    return _CYCLE_WORDS + (record_layout(config).size + 31) // 32


def flatten(layout: data.Layout, prefix: str, offset: int = 0) -> Iterator[tuple[str, int, int]]:
    """(PREFIX_NAME, lowest bit, width) of every field of ``layout`` and of the structures inside it."""
    for name, field in layout:
        path = f"{prefix}_{name}".upper()
        yield path, offset + field.offset, field.width
        if isinstance(field.shape, data.StructLayout):
            yield from flatten(field.shape, path, offset + field.offset)


def layout_dtype(shape: object) -> np.dtype:
    """The numpy type that holds a value of ``shape``: nested like the layout, integers unsigned and rounded up."""
    if isinstance(shape, data.StructLayout):
        return np.dtype([(name, layout_dtype(field.shape)) for name, field in shape])
    if isinstance(shape, data.ArrayLayout):
        return np.dtype((layout_dtype(shape.elem_shape), (shape.length,)))
    width = Shape.cast(shape).width
    for bits in (8, 16, 32, 64):
        if width <= bits:
            return np.dtype(f"u{bits // 8}")
    raise ValueError(f"a field must have at most 64 bits, not {width}")


def _bits(words: np.ndarray, offset: int, width: int) -> np.ndarray:
    """Bits ``offset`` to ``offset + width`` of every row of ``words`` (uint32, one spare column), as uint64."""
    first, shift = divmod(offset, 32)
    value = words[:, first].astype(np.uint64) >> np.uint64(shift)
    for index in range(1, (shift + width + 31) // 32):
        value |= words[:, first + index].astype(np.uint64) << np.uint64(32 * index - shift)
    return value & np.uint64((1 << width) - 1)


def _fill(out: np.ndarray, words: np.ndarray, shape: object, offset: int) -> None:
    if isinstance(shape, data.StructLayout):
        for name, field in shape:
            _fill(out[name], words, field.shape, offset + field.offset)
    elif isinstance(shape, data.ArrayLayout) and Shape.cast(shape.elem_shape).width == 32:
        _fill_words(out, words, offset)
    elif isinstance(shape, data.ArrayLayout):
        for index, field in shape:
            _fill(out[:, index], words, field.shape, offset + field.offset)
    else:
        out[...] = _bits(words, offset, Shape.cast(shape).width)


def _fill_words(out: np.ndarray, words: np.ndarray, offset: int) -> None:
    """Copy an array of 32-bit elements in one step: lane arrays are most of every record."""
    first, shift = divmod(offset, 32)
    count = out.shape[1]
    low = words[:, first : first + count]
    if shift == 0:
        out[...] = low
    else:
        out[...] = low >> np.uint32(shift) | words[:, first + 1 : first + count + 1] << np.uint32(32 - shift)


def _padded(words: np.ndarray) -> np.ndarray:
    """Return ``words`` with the spare column that :func:`_bits` may read."""
    padded = np.zeros((len(words), words.shape[1] + 1), np.uint32)
    padded[:, :-1] = words
    return padded


def decode_words(words: np.ndarray, layout: data.StructLayout) -> np.ndarray:
    """Decode rows of uint32 words, least significant first, to a structured array of :func:`layout_dtype`."""
    out = np.zeros(len(words), layout_dtype(layout))
    _fill(out, _padded(words), layout, 0)
    return out


def decode_records(config: SmConfig, words: np.ndarray, parts: Collection[str] | None = None) -> np.ndarray:
    """Decode records, as the simulation writes them, to a structured array.

    Parameters
    ----------
    words
        uint32 of shape (n, ``record_words(config)``).
    parts
        The parts of :func:`record_layout` to decode; all if None.

    Returns
    -------
    Structured array of shape (n,): ``cycle`` (uint64; 0 is the cycle in which ``start`` was high) and the ``parts`` of
    :func:`record_layout`, nested as there, lane arrays with shape (n, threads).
    """
    wanted = [(name, field) for name, field in record_layout(config) if parts is None or name in parts]
    fields: list = [("cycle", np.uint64), *((name, layout_dtype(field.shape)) for name, field in wanted)]
    out = np.zeros(len(words), fields)
    out["cycle"] = FieldReader.cycles(words)
    padded = _padded(words[:, _CYCLE_WORDS:])
    for name, field in wanted:
        _fill(out[name], padded, field.shape, field.offset)
    return out


def _field(config: SmConfig, path: str) -> tuple[int, int, int | None]:
    """The lowest bit in a record, the width, and the length (None: no array) of a field of :func:`record_layout`."""
    shape: Any = record_layout(config)
    offset = 32 * _CYCLE_WORDS
    for name in path.split("."):
        shape, offset = shape[name].shape, offset + shape[name].offset
    if isinstance(shape, data.ArrayLayout):
        return offset, Shape.cast(shape.elem_shape).width, shape.length
    return offset, Shape.cast(shape).width, None


class FieldReader:
    """Reads a few fields of records: much cheaper than :func:`decode_records` if most of a record is not needed.

    ``paths`` name fields of :func:`record_layout` from the outside in, as in "wb.value.rd". A field is a number of at
    most 64 bits, or an array of 32-bit numbers.
    """

    def __init__(self, config: SmConfig, paths: Sequence[str]) -> None:
        self._fields = [_field(config, path) for path in paths]

    def read(self, words: np.ndarray) -> list[np.ndarray]:
        """Return the fields of records, as the simulation writes them (uint32, one row each), in path order.

        A number is uint32 or uint64 of shape (n,), an array uint32 of shape (n, length).
        """
        return [self._read(words, *field) for field in self._fields]

    @staticmethod
    def _read(words: np.ndarray, offset: int, width: int, count: int | None) -> np.ndarray:
        if count is not None:
            out = np.empty((len(words), count), np.uint32)
            _fill_words(out, words, offset)
            return out
        first, shift = divmod(offset, 32)
        if shift + width <= 32:
            return words[:, first] >> np.uint32(shift) & np.uint32((1 << width) - 1)
        return _bits(words, offset, width)

    @staticmethod
    def cycles(words: np.ndarray) -> np.ndarray:
        """The cycle of each record (uint64)."""
        return words[:, 0] | words[:, 1].astype(np.uint64) << np.uint64(32)
