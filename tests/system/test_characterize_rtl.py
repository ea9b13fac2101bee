"""Micro-benchmarks on the hardware: every number is that of the prediction."""

from dataclasses import fields

import pytest

from metronome.hdl.presets import TINY
from metronome.sim.studies.characterize.bench import Bench
from metronome.sim.studies.characterize.expected import shape_of
from metronome.sim.studies.characterize.measure import measure
from metronome.sim.studies.characterize.probes import EMPTY, control, distances, slots
from tests.sim.studies.characterize.executing import predicted, simulated
from tests.support.builds import on
from tests.support.tiers import some_long

pytestmark = on("TINY")
SHAPE = shape_of(TINY)


@pytest.mark.slow
@pytest.mark.parametrize("warps", some_long([1, 2], 1))
def test_distances_and_control(warps):
    # In two warps at once wspawn would wait for ever.
    bench = Bench(SHAPE, [*distances(), *slots(), *(control() if warps == 1 else ())], warps)
    told, made = (bench.cycles(execute(TINY)(bench, None)) for execute in (predicted, simulated))
    assert told == made
    assert len(told) > 250 and EMPTY.name in told


@pytest.mark.long
def test_every_measurement():
    told, made = measure(SHAPE, predicted(TINY)), measure(SHAPE, simulated(TINY))
    for field in fields(told):
        assert getattr(told, field.name) == getattr(made, field.name), field.name
