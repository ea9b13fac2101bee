"""Blocks of a run and their coarser levels, recounted one by one."""

from dataclasses import replace

import numpy as np
import pytest

from metronome.hdl.presets import TINY
from metronome.sim.show.trace.levels import BINS, BLOCK, FIRST, STEP, Levels
from metronome.sim.show.trace.tracks import Part, Tracks


def part_of(rng, count, tracks):
    words = np.array([len(track.words) for track in tracks.states])
    return Part(
        states=rng.integers(0, words[:, None] + 1, (len(words), count)).astype(np.uint8),
        numbers=rng.integers(0, 60, (len(tracks.numbers), count)).astype(np.uint16),
        codes=rng.integers(0, 9, (len(tracks.slots), count)).astype(np.uint32),
        lanes=rng.integers(0, 4, (len(tracks.slots), count)).astype(np.uint32),
    )


def cut(part, size):
    for first in range(0, len(part), size):
        at = slice(first, first + size)
        yield Part(
            states=part.states[:, at], numbers=part.numbers[:, at], codes=part.codes[:, at], lanes=part.lanes[:, at],
        )


def levels_of(part, tracks, size):
    found = {}
    levels = Levels(tracks, lambda level, number, content: found.setdefault(level, []).append((number, content)))
    for piece in cut(part, size):
        levels.add(piece)
    levels.finish()
    for blocks in found.values():
        assert [number for number, _ in blocks] == list(range(len(blocks)))
    return levels, {level: [content for _, content in blocks] for level, blocks in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("cycles", "size", "schedulers"), [
    (1, 1, 1), (64, 7, 1), (1000, 300, 1), (1000, 300, 2), (3 * BLOCK + 777, 50_001, 1),
])
def test_every_bin_is_what_its_cycles_are(cycles, size, schedulers):
    tracks = Tracks(replace(TINY, schedulers=schedulers))
    part = part_of(np.random.default_rng(cycles), cycles, tracks)
    levels, found = levels_of(part, tracks, size)
    assert levels.cycles == cycles
    per = len(tracks.states) + 2 * len(tracks.numbers) + 8 * schedulers
    assert [len(block) // per for block in found[0]] == [
        min(BLOCK, cycles - first) for first in range(0, cycles, BLOCK)]
    first_block = part.states[:, :BLOCK].tobytes() + part.numbers[:, :BLOCK].astype("<u2").tobytes()
    for partitions in (part.codes, part.lanes):
        first_block += b"".join(its[:BLOCK].astype("<u4").tobytes() for its in partitions)
    assert found[0][0] == first_block
    for level in range(1, max(found) + 1):
        bin_cycles = FIRST * STEP ** (level - 1)
        rows = np.concatenate([np.frombuffer(block, "<u4").reshape(levels.rows, -1) for block in found[level]], axis=1)
        bins = [slice(first, first + bin_cycles) for first in range(0, cycles, bin_cycles)]
        assert rows.shape == (levels.rows, len(bins))
        wanted = [(track == word).astype(int) for track, its in zip(part.states, tracks.states, strict=True)
                  for word in range(1, len(its.words) + 1)]
        wanted += list(part.numbers.astype(int))
        for row, values in zip(rows, wanted, strict=False):
            assert row.tolist() == [int(values[at].sum()) for at in bins]
        for row, values in zip(rows[len(wanted) :], part.numbers, strict=True):
            assert row.tolist() == [int(values[at].max()) for at in bins]
    assert len(found[max(found)]) == 1  # the coarsest is one block
    assert all(len(found[level]) > 1 for level in range(1, max(found)))
    assert cycles <= BINS * FIRST or len(found[1]) > 1
