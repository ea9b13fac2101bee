"""Which values of a parameter `make check` and `make test` have."""

import pytest


def some_long(values, quick):
    """Parameters: the first ``quick`` values as the test is marked, the others `long`."""
    return _marked(values, quick, pytest.mark.long)


def some_more(values, quick):
    """The same, and the others `more`."""
    return _marked(values, quick, pytest.mark.more)


def in_tiers(values, quick, more):
    """The same, those beyond the first ``more`` of all `long`."""
    return [*_marked(values[:more], quick, pytest.mark.more), *_marked(values[more:], 0, pytest.mark.long)]


def some_slow(values, quick):
    """The same, and the others `slow`."""
    return _marked(values, quick, pytest.mark.slow)


def more_but(values, quick):
    """The values, `more` but for those of ``quick``; tuples are for tests with several parameters."""
    return _but(values, quick, pytest.mark.more)


def long_but(values, quick):
    """The same, and the others `long`."""
    return _but(values, quick, pytest.mark.long)


def _but(values, quick, mark):
    return [pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=[mark] * (value not in quick))
            for value in values]


def _marked(values, quick, mark):
    return [pytest.param(value, marks=[mark] * (place >= quick)) for place, value in enumerate(values)]
