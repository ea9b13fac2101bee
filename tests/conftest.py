"""How long a test may take decides where it runs, and which simulation it needs with whom.

- No mark: `make check`, the loop of whoever works here. Half a second, or little more.
- ``slow``: `make test`. Also every test that needs another simulation than TINY (``build``).
- ``more``: `make test-more`, which CI runs after `make test`: more sizes, seeds, policies and kernels of its tests.
- ``long``: `make test-long`. More than half a minute, a simulation that few tests need, or more sizes and seeds of a
  test that `make test` runs with some (tests/support/tiers.py).
"""

import gc
import signal

import pytest

from tests.support.browser import browser, fonts, visit

#: Fixtures from elsewhere.
__all__ = ["browser", "fonts", "visit"]

#: Until the first test runs: what imports and collects makes millions of objects and little garbage.
gc.disable()
#: `make check` builds this simulation and no other.
QUICK_BUILD = "TINY"
#: Builds of `make test-more` and not of `make test`.
MORE_BUILDS = ("BASE", "bare", "L2_GPU", "PARTS_GPU", "DISPATCH_4", "STATIC_GPU", "STATIC_PARTS", "DISPATCH_L2")
#: Builds of `make test-long` only. They go first there: most are large, and no process waits for them at the end.
#: The SM on AXI (axi) is in `make test` with cocotb and Icarus: tests/tb/examples.
#: Ordered channels (ordered) are proved, and predicted, in `make test`: tests/tb/formal,
#: tests/sim/analysis/access_order. Without an I-cache (uncached) `make test` has the front end alone:
#: tests/hdl/frontend. `make test-more` has the proof of P7.
LONG_BUILDS = ("PAPER", "crowd", "MID", "least", "uncached", "axi", "ordered")


def build_of(item):
    """The name of the simulation that a test needs, or None; that of a parameter goes before that of its module."""
    mark = item.get_closest_marker("build")
    return mark.args[0] if mark else None


#: The compiled model of the predictor, as if it were a build: first, so that nobody waits for it while others build.
MODEL = "model"


def rank(item):
    build = build_of(item)
    if build == MODEL:
        return -1
    return LONG_BUILDS.index(build) if build in LONG_BUILDS else len(LONG_BUILDS) + (build is None)


def shares(item):
    """Whether the test uses a fixture that is made once a module."""
    used = item._fixtureinfo.name2fixturedefs.values()
    return any(fixture.scope == "module" for fixtures in used for fixture in fixtures)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """One group a build (pytest-xdist), so that no process waits for another's; simulations before all else.

    What a module makes once for all its tests, one process makes, too.
    """
    for item in items:
        build = build_of(item)
        if build is not None:
            item.add_marker(pytest.mark.xdist_group(build))
            if build in LONG_BUILDS:
                item.add_marker(pytest.mark.long)
            elif not item.get_closest_marker("long") and build != QUICK_BUILD:
                item.add_marker(pytest.mark.more if build in MORE_BUILDS else pytest.mark.slow)
        elif item.get_closest_marker("xdist_group") is None and shares(item):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    items.sort(key=rank)


def pytest_collection_finish():
    """The collector leaves alone what lives to the end: thousands of tests, and the modules that they import.

    It runs more seldom, too: an elaboration makes millions of objects and little garbage.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.fixture
def interruptible():
    """SIGINT interrupts this process, which under nohup or in a script's background has inherited to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def own_policies():
    """Forget the policies that a test loads from files."""
    from metronome.hdl import policies as hardware
    from metronome.sim.machine.policies import files, plain

    registries = (plain.POLICIES, plain._OURS, hardware.POLICIES, hardware._OURS, files._LOADED)
    before = [dict(each) for each in registries]
    yield
    for each, content in zip(registries, before, strict=True):
        each.clear()
        each.update(content)
