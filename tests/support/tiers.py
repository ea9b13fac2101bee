"""Which values of a parameter `make check` and `make test` have."""

import pytest


def some_long(values, quick):
    """Parameters: the first ``quick`` values as the test is marked, the others `long`."""
    return _marked(values, quick, pytest.mark.long)


def some_slow(values, quick):
    """The same, and the others `slow`."""
    return _marked(values, quick, pytest.mark.slow)


def long_but(values, quick):
    """The values, `long` but for those of ``quick``; tuples are for tests with several parameters."""
    def parameter(value):
        return pytest.param(*(value if isinstance(value, tuple) else (value,)),
                            marks=[] if value in quick else [pytest.mark.long])

    return [parameter(value) for value in values]


def _marked(values, quick, mark):
    return [pytest.param(value, marks=[mark] * (place >= quick)) for place, value in enumerate(values)]
