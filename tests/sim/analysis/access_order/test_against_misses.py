"""Estimates against what the machine requests today, where the order of accesses does not matter."""

import numpy as np
import pytest

from metronome.hdl.presets import BASE
from metronome.sim.analysis.access_order.estimate import CacheSize, Lookup, estimate
from metronome.sim.predict.predictor import predict
from metronome.sim.program import kernels as kernel
from tests.sim.analysis.access_order.programs import listing_of, request_of
from tests.sim.analysis.access_order.test_analyzer import KERNELS
from tests.support.tiers import some_more


class Requests:
    """A watcher (:class:`sim.run.types.Watcher`): loads that make a request, or that the write buffer answers."""

    def begin(self) -> None:
        self.made = self.forwarded = 0

    def take(self, events: np.ndarray) -> None:
        loads = events[(events["access"] != 0) & (events["store"] == 0)]
        served = (loads["hit"] != 0) | (loads["merge"] != 0)
        self.forwarded += int((~served & (loads["forward"] != 0)).sum())
        self.made += int((~served & (loads["forward"] == 0)).sum())


@pytest.mark.parametrize("name", some_more(KERNELS, 4))
def test_where_nothing_is_replaced(name):
    """In any order each line misses once. Today a load that the write buffer answers requests nothing."""
    launch = kernel.prepare(name, None, None, 1, BASE)
    listing = listing_of(BASE, launch)
    sequence = [
        Lookup(each.pc, each.store, line, line < listing.user_line) for each in listing.sequence for line in each.lines
    ]
    size = CacheSize(BASE.dcache_bytes, BASE.dcache_ways)
    assert estimate(sequence, size).total.misses == len({each.line for each in sequence if not each.store})
    requests = Requests()
    predict(BASE, request_of(BASE, launch), watcher=requests)
    assert requests.made <= estimate(sequence, size).total.misses <= requests.made + requests.forwarded
