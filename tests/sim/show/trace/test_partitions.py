"""Traces of machines with several schedulers, predicted: what all formats say adds up to the counters."""

import csv
import io
import re
from dataclasses import replace

import pytest

from metronome.hdl.presets import PIPELINES, TINY
from metronome.sim.predict.predictor import predict
from metronome.sim.program.kernels import prepare
from metronome.sim.run.types import RunRequest
from tests.sim.show.trace.pages import page_of
from tests.system.test_trace_rtl import adds_up, traced

TWO = replace(TINY, warps=4, schedulers=2)
#: Events of the whole SM that have no warp.
OF_ALL = {"region_begin", "region_end", "wait", "fill", "halt"}


def traced_run(config, kernel="psum"):
    request = RunRequest(launch=prepare(kernel, None, 16, 1, config), policy="gtlo", memory="dram")
    prediction, *files = traced(predict, config, request)
    return prediction.result, files


@pytest.mark.parametrize("config", [
    TWO, replace(TWO, schedulers=4), replace(TWO, **PIPELINES["fpga"]),
], ids=["two", "four", "two, for chips"])
def test_all_formats_add_up(config):
    result, files = traced_run(config)
    adds_up(config, result, *files)


def test_rows_name_their_partition():
    _, (text, *_) = traced_run(TWO)
    rows = list(csv.DictReader(io.StringIO(text.decode())))
    assert len({tuple(row.values()) for row in rows}) == len(rows), "a row for each partition"
    for row in rows:
        if row["warp"]:
            assert int(row["partition"]) == int(row["warp"]) % 2
        else:
            shared = row["event"] in OF_ALL or row["detail"].startswith("data_")
            assert (row["partition"] == "") == shared, row
    for event in ("stall", "refill", "request", "issue", "nop", "write"):
        assert {"0", "1"} <= {row["partition"] for row in rows if row["event"] == event}


@pytest.mark.parametrize(("pipeline", "cycles"), [("classic", 2), ("fpga", 3)])
def test_a_page_knows_when_an_instruction_enters_its_unit(tmp_path, pipeline, cycles):
    file, *_ = page_of(tmp_path / "a.html", "vecadd", 4, "lrr", replace(TINY, **PIPELINES[pipeline]))
    assert re.search(r'"to_unit": ?(\d+)', file.read_text())[1] == str(cycles)
