"""A page of a run, made once for all tests that open it."""

import pytest

from tests.sim.show.trace.pages import page_of, settle


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """The page, the program, what was traced, and the result."""
    return page_of(tmp_path_factory.mktemp("page") / "a.html", "transpose", 64, "gtlo")


@pytest.fixture
def tab(visit, run):
    """The page in a browser; it must complain of nothing, and ask for nothing else."""
    tab, requests, complaints = visit(run[0])
    settle(tab)
    yield tab
    assert requests == [run[0].as_uri()]
    assert complaints == []
