"""Which values of a parameter `make check` and `make test` have."""

import pytest

#: What pytest.param makes: a value may have marks already, so that the functions can be used one on the other.
_Param = type(pytest.param())


def some_long(values, quick):
    """Parameters: the first ``quick`` values as the test is marked, the others `long`."""
    return _marked(values, quick, pytest.mark.long)


def some_more(values, quick):
    """The same, and the others `more`."""
    return _marked(values, quick, pytest.mark.more)


def more_then_long(values, quick, more):
    """The first ``quick`` values as the test is marked, those up to ``more`` `more`, the others `long`."""
    return [*_marked(values[:more], quick, pytest.mark.more), *_marked(values[more:], 0, pytest.mark.long)]


def slow_then_more(values, quick, slow):
    """The first ``quick`` values as the test is marked, those up to ``slow`` `slow`, the others `more`."""
    values = list(values)
    return [*_marked(values[:slow], quick, pytest.mark.slow), *_marked(values[slow:], 0, pytest.mark.more)]


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
    found = [value if isinstance(value, _Param) else pytest.param(*(value if isinstance(value, tuple) else (value,)))
             for value in values]
    return [_with(value, [mark] * ((value.values if len(value.values) > 1 else value.values[0]) not in quick))
            for value in found]


def _marked(values, quick, mark):
    return [_with(value, [mark] * (place >= quick)) for place, value in enumerate(values)]


def _with(value, marks):
    if isinstance(value, _Param):
        return pytest.param(*value.values, id=value.id, marks=[*value.marks, *marks])
    return pytest.param(value, marks=marks)
