"""The page of several SMs, in Debian's Chromium: what each SM does is what was traced."""

from types import SimpleNamespace

import pytest

from metronome.hdl.gpu.config import GpuConfig
from metronome.hdl.presets import TINY
from metronome.sim.show.trace.about import About
from metronome.sim.show.trace.cycles import CycleStream
from metronome.sim.show.trace.several import gpu_writer_of
from tests.sim.show.trace.pages import Kept, details, place, show

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

GPU = GpuConfig(sm=TINY, sms=2)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A page whose SMs are predicted one by one, with two latencies: no model of several SMs, and they differ."""
    from metronome.sim.predict.gpu.transfers import WithoutPort
    from metronome.sim.predict.predictor import predict
    from metronome.sim.program.kernels import prepare
    from metronome.sim.run.types import RunRequest

    path = tmp_path_factory.mktemp("several") / "a.html"
    launch = prepare("psum", None, 16, 1, TINY)
    with path.open("w+b") as file:
        page = gpu_writer_of(".html", GPU, file, About(name="two", facts=[("sms", "2")], image=launch.image))
        kept = [Kept(), Kept()]
        streams = [CycleStream(TINY, [page.sms[sm], kept[sm]]) for sm in range(2)]
        for stream in streams:
            stream.begin()
        for latency, stream in zip((20, 40), streams, strict=True):
            # The SMs of a GPU begin together, and have as many cycles.
            watcher = SimpleNamespace(begin=lambda: None, take=WithoutPort(stream).take)
            predict(TINY, RunRequest(launch=launch, policy="lrr", latency=latency, max_cycles=1000), watcher=watcher)
        for stream in streams:
            stream.finish()
        page.close()
    return path, [list(each.issues()) for each in kept]


def test_every_sm_has_its_rows(tab, run):
    titles = tab.evaluate("timeline.rows.filter(row => row.kind === 'title').map(row => row.label)")
    assert titles == ["SM 0", "SM 1"]
    labels = tab.evaluate("timeline.rows.map(row => row.label)")
    assert [labels.count(name) for name in ("warp 0", "warp 1", "SM", "requests", "write buffer")] == [2, 2, 2, 0, 0]
    assert tab.evaluate("runs.map(run => run.cycles)") == [1000, 1000]
    heads = tab.evaluate("[...document.querySelectorAll('section.profile h2')].map(each => each.textContent)")
    assert [head.rpartition(": ")[2] for head in heads] == ["SM 0", "SM 1"]
    assert not tab.is_visible("#chain") and tab.query_selector("#align") is None


def test_a_cell_tells_its_sm(tab, run):
    only = [[each for each in mine if each[:3] not in [it[:3] for it in other]]
            for mine, other in zip(run[1], reversed(run[1]), strict=True)]
    assert all(only), "the SMs do the same"
    for sm, issues in enumerate(only):
        cycle, warp, pc, _ = issues[len(issues) // 2]
        show(tab, cycle)
        tab.mouse.move(*place(tab, cycle, warp, sm))
        told = details(tab, "hint")
        assert [told[name] for name in ("SM", "cycle", "warp", "pc")] == [
            str(sm), f"{cycle:,}", str(warp), f"0x{pc:08x}"]
        tab.mouse.click(*place(tab, cycle, warp, sm))
        assert details(tab)["SM"] == str(sm)
