"""Which blocks lock step lets the SMs get."""

import pytest

from metronome.hdl.gpu.config import Dispatch, GpuConfig
from metronome.hdl.presets import TINY
from metronome.sim.run.gpu.dispatch import Dispatched

NONE = 0xFFFF_FFFF


def dispatched(dispatch, blocks):
    made = Dispatched(GpuConfig(sm=TINY, sms=2, dispatch=dispatch))
    made.launch(blocks)
    return made


def test_static():
    its = dispatched(Dispatch.STATIC, 5)
    assert [its.note(sm, answered=True) for sm in (0, 0, 1, 0, 0, 1, 1)] == [0, 2, 1, 4, NONE, 3, NONE]
    assert its.lost() is None
    its.launch(1)
    assert [its.note(sm, answered=True) for sm in (1, 0, 0)] == [NONE, 0, NONE]


def test_nothing_is_left_before_a_launch():
    its = Dispatched(GpuConfig(sm=TINY, sms=2, dispatch=Dispatch.DYNAMIC))
    assert its.note(0, answered=True) is None
    assert its.judge(NONE) is None and its.lost() is None


def test_dynamic_in_any_order():
    its = dispatched(Dispatch.DYNAMIC, 3)
    assert [its.note(sm, answered=True) for sm in (0, 1, 0, 1)] == [None] * 4
    # The hardware has handed them out in another order than that of the issues; one load was told that none is left.
    assert [its.judge(answer) for answer in (2, NONE, 0, 1)] == [None] * 4
    assert its.lost() is None


@pytest.mark.parametrize(("noted", "answers", "text"), [
    (1, (1,), "a block below 1, or none"), (4, (3,), "a block below 3, or none"),
    (3, (0, 0), "a block that no load has had"), (3, (NONE,), "a block, of 3: 2 at most are taken"),
])
def test_refused_answers(noted, answers, text):
    its = dispatched(Dispatch.DYNAMIC, 3)
    for _ in range(noted):
        its.note(0, answered=True)
    *before, last = [its.judge(answer) for answer in answers]
    assert before == [None] * len(before) and last == text


def test_a_block_that_is_lost():
    its = dispatched(Dispatch.DYNAMIC, 3)
    for _ in range(6):
        its.note(0, answered=True)
    assert [its.judge(answer) for answer in (0, NONE, NONE, 2)] == [None] * 4
    assert its.lost() == "block 1 of 3 was handed to no SM"
    # A load whose answer goes nowhere may have had it.
    its.note(1, answered=False)
    assert its.lost() is None
