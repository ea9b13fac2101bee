"""Pages of runs, and what the tests of them ask of a browser."""

import itertools
import time

import pytest

from metronome.hdl.presets import BASE
from metronome.sim.predict.predictor import predict
from metronome.sim.program.kernels import prepare
from metronome.sim.run.types import RunRequest
from metronome.sim.show.trace.about import About
from metronome.sim.show.trace.cycles import CycleStream
from metronome.sim.show.trace.difference import write_difference
from metronome.sim.show.trace.page import HtmlTrace


class Kept:
    """A sink of cycles that keeps them."""

    def begin(self):
        self.parts = []

    def take(self, partitions):
        self.parts.append(partitions)

    def finish(self):
        pass

    def issues(self):
        """Cycle, warp, pc and lanes of each instruction."""
        for partitions in self.parts:
            rows = [zip(part.events["cycle"], part.events["selected"], part.pc, part.lanes, strict=True)
                    for part in partitions]
            for cycle, warp, pc, lanes in itertools.chain.from_iterable(zip(*rows, strict=True)):
                if pc >= 0:
                    yield int(cycle), int(warp), int(pc), int(lanes)


def page_of(file, kernel, size, policy, config=BASE):
    request = RunRequest(launch=prepare(kernel, None, size, 1, config), policy=policy, memory="dram")
    with file.open("w+b") as output:
        about = About(name=f"{kernel} <&> {policy}", facts=[("policy", policy)], image=request.launch.image)
        kept = Kept()
        stream = CycleStream(config, [HtmlTrace(config, output, about), kept])
        result = predict(config, request, watcher=stream).result
        stream.finish()
    return file, request.launch.image, kept, result


def settle(tab):
    """Wait until the picture is drawn and nothing more is to come."""
    for _ in range(400):
        if tab.evaluate("timeline.drawn > 0 && !timeline.asked && runs.every(run => !run.coming.size)"):
            return
        time.sleep(0.02)
    pytest.fail("the picture is not drawn")


def domain(tab):
    return tab.evaluate("timeline.domain")


def place(tab, cycle, warp, run=0):
    """Where on the screen a cell is, in the middle."""
    return tab.evaluate("""([cycle, warp, run]) => {
        const box = timeline.canvas.getBoundingClientRect();
        const row = timeline.rows.find(each => each.run === run && each.warp === warp);
        return [box.left + timeline.x(cycle + 0.5 + runs[run].offset), box.top + row.top + row.height / 2];
    }""", [cycle, warp, run])


def details(tab, element="details"):
    settle(tab)
    tab.wait_for_timeout(50)
    return dict(tab.evaluate(f"""[...document.querySelectorAll("#{element} dt")].map(
        term => [term.textContent, term.nextElementSibling.textContent])"""))


def show(tab, cycle, span=60):
    tab.evaluate(f"timeline.show({cycle - span // 2}, {cycle + span // 2})")
    settle(tab)


def two_runs(visit, one, two, folder):
    """The page of two runs of :func:`page_of`: what ``visit`` returns, the issues of each, and those of its region."""
    both = folder / "c.html"
    with both.open("w+b") as file:
        write_difference((one[0], two[0]), file)
    visited = visit(both)
    settle(visited[0])
    begins = visited[0].evaluate("runs.map(run => run.regions[0][0])")
    sides = [list(run[2].issues()) for run in (one, two)]
    measured = [[each for each in side if each[0] >= begin] for side, begin in zip(sides, begins, strict=True)]
    return visited, sides, measured
