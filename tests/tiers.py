"""Which values of a parameter `make test` has."""

import pytest


def some_long(values, quick):
    """Parameters: the first ``quick`` values as the test is marked, the others `long`."""
    return [pytest.param(value, marks=[pytest.mark.long] * (place >= quick)) for place, value in enumerate(values)]
