"""Which loops lanes leave together: distances, products, constants that are loaded again."""

import pytest

from tests.sim.program.divergence.barrier_loops import LOOPS, compared_by_less, outcome


@pytest.mark.parametrize(("expected", "program"), LOOPS.values(), ids=LOOPS)
def test_loop(expected, program):
    assert outcome(*program) == expected


def test_without_a_barrier_a_value_may_pass_the_end_of_its_range():
    assert compared_by_less()
