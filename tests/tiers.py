"""Which values of a parameter `make check` and `make test` have."""

import pytest


def some_long(values, quick):
    """Parameters: the first ``quick`` values as the test is marked, the others `long`."""
    return _marked(values, quick, pytest.mark.long)


def some_slow(values, quick):
    """The same, and the others `slow`."""
    return _marked(values, quick, pytest.mark.slow)


def _marked(values, quick, mark):
    return [pytest.param(value, marks=[mark] * (place >= quick)) for place, value in enumerate(values)]
