"""Epochs, and what orders accesses, step by step."""

import numpy as np
import pytest

from metronome.hdl.presets import BASE
from metronome.sim.analysis.access_order.happens_before import HappensBefore
from metronome.sim.analysis.access_order.phases import Epochs
from metronome.sim.analysis.code.refusals import RefusedError


def test_a_loop_begins_an_epoch():
    epochs = Epochs(2)
    assert [epochs.access(0, pc) for pc in (8, 12, 12, 8, 12)] == [0, 0, 1, 2, 2]
    assert epochs.access(1, 4) == 0


def test_who_meets_goes_on_above_all():
    epochs = Epochs(4)
    for _ in range(6):
        epochs.access(1, 8)
    epochs.meet([0, 1])
    assert [epochs.access(warp, 4) for warp in range(4)] == [6, 6, 0, 0]
    epochs.meet([2], [0, 1, 2, 3])
    assert [epochs.access(warp, 4) for warp in range(4)] == [7, 7, 7, 1]


def test_behind_a_barrier_no_loop_is_seen():
    """The warp that came to the barrier from a higher pc is in the same epoch as the others."""
    epochs = Epochs(2)
    epochs.access(0, 100)
    epochs.meet([0, 1])
    assert epochs.access(0, 50) == epochs.access(1, 50) == 1


def test_the_region_turns_all():
    epochs = Epochs(3)
    for _ in range(4):
        epochs.access(2, 8)
    epochs.turn()
    assert [epochs.access(warp, 8) for warp in range(3)] == [4, 4, 4]


@pytest.fixture
def order():
    return HappensBefore(BASE)


def touch(order, warp, address=0x20000, store=False):
    order.access(warp, 0x1000 + 4 * warp, np.array([address], np.uint32), 4, store)


def test_who_does_not_know_that_the_region_is_open(order):
    assert order.region(0, 1, 0x100) and order.in_region
    with pytest.raises(RefusedError, match="whether it lies in the measured region depends on the schedule") as raised:
        touch(order, 1)
    assert raised.value.pc == 0x1004


def test_who_opens_it_too_knows(order):
    assert order.region(0, 1, 0x100) and not order.region(1, 1, 0x100)
    touch(order, 1)


def test_who_meets_somebody_who_knows_knows(order):
    order.region(0, 1, 0x100)
    order.meet([0, 2])
    touch(order, 2)
    order.meet([3], [2])
    touch(order, 3)
    with pytest.raises(RefusedError):
        touch(order, 1)


def test_what_the_second_to_open_it_does_not_know(order):
    touch(order, 1)
    order.meet([0, 1])
    order.region(0, 1, 0x100)
    with pytest.raises(RefusedError, match="the region begins while warp 1 loads or stores: the accesses in the "
                                           "region depend"):
        order.region(2, 1, 0x104)


def test_the_region_ends_behind_all(order):
    order.region(0, 1, 0x100)
    order.meet([0, 1])
    touch(order, 1)
    with pytest.raises(RefusedError, match="the region ends while warp 1 loads or stores") as raised:
        order.region(0, 0, 0x108)
    assert raised.value.pc == 0x108


def test_a_region_that_was_never_open_does_not_end(order):
    touch(order, 1)
    assert not order.region(0, 0, 0x100) and not order.regions


def test_what_is_below_user_memory_does_not_race(order):
    touch(order, 0, 0x40, store=True)
    touch(order, 1, 0x40, store=True)
    touch(order, 0, 0x10000, store=True)
    with pytest.raises(RefusedError, match="warp 1 stores 0x10000, warp 0 stores it at 0x00001000"):
        touch(order, 1, 0x10000, store=True)


def test_the_first_address_that_races_is_named(order):
    touch(order, 2, 0x10008)
    with pytest.raises(RefusedError, match="warp 1 stores 0x10008, warp 2 loads it at 0x00001008"):
        order.access(1, 0x1004, np.array([0x10000, 0x10004, 0x10008, 0x1000C], np.uint32), 4, store=True)
