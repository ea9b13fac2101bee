"""Decoding of the simulation's records: every field against Amaranth's own view of the same bits."""

import random

import numpy as np
import pytest
from amaranth.lib import data

from metronome.hdl.config import SmConfig
from metronome.hdl.layouts.probe import probe_layout
from metronome.hdl.presets import PAPER, TINY
from metronome.sim.build.records import FieldReader, decode_records, decode_words, flatten, record_words, status_layout

CONFIGS = [TINY, SmConfig(warps=3, threads=1), SmConfig(warps=5, threads=8), PAPER]


def words_of(value: int, count: int) -> list[int]:
    return [value >> 32 * index & 0xFFFF_FFFF for index in range(count)]


def leaves(shape, const, value, path=""):
    """(path, expected, decoded) of every field that is not a structure."""
    if isinstance(shape, data.StructLayout):
        for name, field in shape:
            yield from leaves(field.shape, const[name], value[name], f"{path}.{name}")
    elif isinstance(shape, data.ArrayLayout):
        for index in range(shape.length):
            yield from leaves(shape.elem_shape, const[index], value[index], f"{path}[{index}]")
    else:
        yield path, int(const), int(value)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: f"{config.warps}x{config.threads}")
@pytest.mark.parametrize("make", [probe_layout, status_layout])
def test_every_field(config, make):
    rng = random.Random(11)
    layout = make(config)
    count = (layout.size + 31) // 32
    values = [rng.getrandbits(layout.size) for _ in range(3)] + [0, (1 << layout.size) - 1]
    decoded = decode_words(np.array([words_of(value, count) for value in values], np.uint32), layout)
    seen = 0
    for row, value in enumerate(values):
        for path, expected, got in leaves(layout, layout.from_bits(value), decoded[row]):
            assert got == expected, f"seed 11, row {row}, {path}"
            seen += 1
    assert seen > 5 * 10


def test_record_begins_with_its_cycle():
    layout = probe_layout(TINY)
    probe = layout.const({"issue": {"valid": 1, "pc": 0x8000_0004}}).as_value().value
    words = [7, 3, *words_of(probe, record_words(TINY) - 2)]
    records = decode_records(TINY, np.array([words], np.uint32))
    assert records["cycle"].tolist() == [3 << 32 | 7]
    assert records["issue"]["pc"].tolist() == [0x8000_0004]
    assert records["wb"]["valid"].tolist() == [0]


def test_only_some_parts_are_decoded():
    rng = random.Random(12)
    words = np.array([[rng.getrandbits(32) for _ in range(record_words(TINY))] for _ in range(5)], np.uint32)
    whole, some = decode_records(TINY, words), decode_records(TINY, words, ("store", "issue"))
    assert some.dtype.names == ("cycle", "issue", "store")
    assert all((some[name] == whole[name]).all() for name in some.dtype.names), "seed 12"


def test_no_records():
    records = decode_records(TINY, np.zeros((0, record_words(TINY)), np.uint32))
    assert records.shape == (0,)
    assert records["store"]["address"].shape == (0, 2)


def test_flatten_gives_absolute_positions():
    layout = probe_layout(TINY)
    positions = {name: (lowest, width) for name, lowest, width in flatten(layout, "PROBE")}
    lowest, width = positions["PROBE_ISSUE_PC"]
    assert width == 32
    assert layout.const({"issue": {"pc": 0xFFFF_FFFF}}).as_value().value == 0xFFFF_FFFF << lowest
    assert positions["PROBE_WB_VALUE_LAST"][1] == 1


def test_field_reader_reads_what_decoding_gives():
    rng = random.Random(13)
    words = np.array([[rng.getrandbits(32) for _ in range(record_words(TINY))] for _ in range(5)], np.uint32)
    whole = decode_records(TINY, words)
    for part, names in {"issue": ("valid", "pc", "instruction"), "store": ("size", "address", "data")}.items():
        read = FieldReader(TINY, [f"{part}.{name}" for name in names]).read(words)
        for name, values in zip(names, read, strict=True):
            assert values.tolist() == whole[part][name].tolist(), f"seed 13: {part}.{name}"
    (lanes,) = FieldReader(TINY, ["wb.value.data"]).read(words)
    assert lanes.tolist() == whole["wb"]["value"]["data"].tolist(), "seed 13"
    assert FieldReader.cycles(words).tolist() == whole["cycle"].tolist(), "seed 13"
