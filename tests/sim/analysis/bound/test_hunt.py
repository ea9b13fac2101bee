"""Random programs against their bounds (tests.sim.analysis.bound.hunt)."""

import dataclasses

import pytest

from tests.sim.analysis.bound import hunt
from tests.support.tiers import more_but


@pytest.mark.slow
@pytest.mark.parametrize("seed", more_but(range(900, 908), [900]))
def test_no_run_is_longer(seed):
    what, bound, longest = hunt.check(hunt.Case(seed))
    assert longest <= bound and (longest or what.startswith("refused"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", more_but(range(920, 928), [923]))
def test_no_run_with_several_schedulers_is_longer(seed):
    case = hunt.Case(seed, schedulers=(2, 4))
    what, bound, longest = hunt.check(case)
    assert case.config.schedulers > 1 and longest <= bound and (longest or what.startswith("refused"))


@pytest.mark.long
def test_three_hundred(monkeypatch):
    monkeypatch.setattr("sys.argv", ["hunt", "--seed", "1000", "--count", "300"])
    assert hunt.main() == 0


@pytest.mark.slow
def test_a_run_above_its_bound_is_seen(monkeypatch):
    true = hunt.bound_of

    def too_low(*arguments):
        bound = true(*arguments)
        composed = [dataclasses.replace(each, cycles=each.cycles // 4) for each in bound.composed]
        return dataclasses.replace(bound, composed=composed)

    monkeypatch.setattr(hunt, "bound_of", too_low)
    with pytest.raises(LookupError, match="run"):
        hunt.check(hunt.Case(900))
