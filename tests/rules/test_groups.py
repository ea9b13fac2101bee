"""Tests of one build are one group, so that no process waits for another's build. The runner must know the groups."""

import pytest


@pytest.mark.build("TINY")
def test_the_runner_knows_the_groups(request):
    """pytest-xdist marks the tests of a group by name; with a pytest that it does not fit it silently does not."""
    if getattr(request.config.option, "loadgroup", False):
        assert request.node.nodeid.endswith("@TINY")
    else:
        pytest.skip("one process: there are no groups (--dist loadgroup)")
