"""The critical path: whom it leads through, and that on it nobody waits for another."""

import dataclasses
import itertools

import numpy as np
import pytest

from metronome.hdl.layouts.counters import StallReason
from metronome.hdl.presets import BASE, PIPELINES, TINY
from metronome.sim.predict.predictor import predict
from metronome.sim.program.kernels import prepare
from metronome.sim.run.types import RunRequest
from metronome.sim.show.trace.chain import Chain
from metronome.sim.show.trace.cycles import CycleStream


class Kept:
    def begin(self):
        self.parts, self.executed = [], []

    def take(self, partitions):
        """Keep the events of the SM: sets are united, and other fields are those of the first partition."""
        events = partitions[0].events.copy()
        for name in ("active", "waiting", "release", "activates"):
            events[name] = np.bitwise_or.reduce([each.events[name] for each in partitions])
        self.parts.append(events)
        self.executed.append(np.array([each.events["executed"] for each in partitions]).T)

    def finish(self):
        self.events, self.executed = np.concatenate(self.parts), np.concatenate(self.executed)


def str_of(config):
    return f"{config.warps}x{config.threads} schedulers={config.schedulers} issue_latency={config.issue_latency}"


def path_of(config, kernel, size, policy="lrr"):
    request = RunRequest(launch=prepare(kernel, None, size, 1, config), policy=policy, memory="fixed")
    chain, kept = Chain(config), Kept()
    stream = CycleStream(config, [chain, kept])
    predict(config, request, watcher=stream)
    stream.finish()
    return chain.links, kept.events, kept.executed


PARTITIONS = [dataclasses.replace(BASE, schedulers=count, warps=8) for count in (2, 4)]
FOR_CHIPS = [dataclasses.replace(each, **PIPELINES["fpga"]) for each in (BASE, *PARTITIONS)]


@pytest.mark.parametrize("config", [TINY, BASE, *PARTITIONS, *FOR_CHIPS[1:]], ids=str_of)
@pytest.mark.parametrize(("kernel", "size"), [("psort_group", 32), ("psum", 64), ("vecadd", 64), ("sgemm_group", 8)])
def test_on_it_nobody_waits_for_another(config, kernel, size):
    """Between two links its warp is active, and waits at no barrier but while it is let go on."""
    links, events, _ = path_of(config, kernel, size)
    assert links[0] == (0, 0)
    ends = [*(link.begin for link in links[1:]), len(events)]
    assert all(link.begin < end for link, end in zip(links, ends, strict=True))
    for link, end in zip(links, ends, strict=True):
        part = events[link.begin + 1 : end]
        active = (part["active"] >> link.warp & 1).astype(bool)
        # The last to end is not active in the cycle in which others are told.
        assert active[:-2].all() or (link is links[-1] and active[: active.argmin()].all())
        # A warp that is the last waits no cycle; one that starts others, or waits to be alone, does so for one.
        waits = (part["waiting"] >> link.warp & 1).astype(bool)
        assert not (waits[1:] & waits[:-1]).any()
    reasons = [part["reason"][:, link.warp] for link, part in zip(links, np.split(events, ends[:-1]), strict=True)]
    at_barriers = sum(int((each == StallReason.BARRIER.value).sum()) for each in reasons)
    assert at_barriers <= 4 * len(links)


@pytest.mark.parametrize("config", [BASE, *PARTITIONS], ids=str_of)
def test_it_is_the_one_that_comes_last(config):
    """In psum all warps meet at barriers; each link behind one begins when the last has come."""
    links, events, executed = path_of(config, "psum", 64)
    releases = set(np.flatnonzero(events["release"]).tolist()) | set(np.flatnonzero(events["activates"]).tolist())
    assert all(link.begin in releases for link in links)
    assert len({link.warp for link in links}) > 1
    for before, link in itertools.pairwise(links):
        if not events["release"][link.begin] >> before.warp & 1:
            # A start, or the end of the one that the next has waited for.
            assert events["activates"][link.begin] or not events["active"][link.begin] >> before.warp & 1
            continue
        # Whom the path comes from is the one that has executed the barrier just before, and the others waited.
        assert before.warp in executed[link.begin - 1] and before.warp != link.warp
        assert events["release"][link.begin] >> link.warp & 1
        assert events["waiting"][link.begin - 1] >> link.warp & 1
        assert not events["waiting"][link.begin - 1] >> before.warp & 1


def test_one_warp_alone():
    config = dataclasses.replace(TINY, warps=1)
    links, _, _ = path_of(config, "vecadd", 4)
    assert {link.warp for link in links} == {0}
