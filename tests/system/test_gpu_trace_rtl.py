"""Traces of several SMs: those of each SM in one file, and the transfers at the memory port."""

import base64
import csv
import io
import json
import re
import zlib
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto
from pyarrow import parquet

from metronome.hdl.config import LINE_BYTES
from metronome.hdl.gpu.config import L2Kind
from metronome.sim.predict.gpu.predictor import predict_gpu
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.kernels import prepare
from metronome.sim.run.gpu.runner import run_gpu
from metronome.sim.run.probe_events import events_of
from metronome.sim.show.trace.about import About
from metronome.sim.show.trace.cycles import CycleStream
from metronome.sim.show.trace.profile import Profile
from metronome.sim.show.trace.several import GPU_FORMATS, gpu_writer_of
from metronome.sim.show.trace.summary import Summary
from metronome.sim.show.trace.tables import CsvTrace
from tests.support.builds import GPUS
from tests.system.test_gpu_rtl import request

_EVENT = proto.TrackEvent


class Port:
    """A watcher of the memory port that also keeps the transfers."""

    def __init__(self, writers):
        self.writers, self.seen = writers, []

    def begin(self):
        pass

    def take(self, transfers):
        self.seen.append(transfers)
        for writer in self.writers:
            writer.transfers(transfers)


def traced(gpu, by=run_gpu, kernel="psum", size=64, **memory):
    """The result of a run, and its files by format."""
    launch = prepare(kernel, None, size, 1, gpu.sm_of(0), compiling=Compiling(several_sms=True))
    about = About(name="a run", facts=[], image=launch.image)
    files = {name: io.BytesIO() for name in GPU_FORMATS}
    writers = [gpu_writer_of(name, gpu, file, about) for name, file in files.items()]
    profiles = [Profile(gpu.sm_of(sm)) for sm in range(gpu.sms)]
    streams = [
        CycleStream(gpu.sm_of(sm), [profiles[sm], *(writer.sms[sm] for writer in writers)]) for sm in range(gpu.sms)]
    port = Port(writers)
    asked = request(launch, gpu, check=False, trace=True, **{"memory": "dram"} | memory)
    result = by(gpu, asked, watchers=[*streams, port])
    for stream in streams:
        stream.finish()
    for writer in writers:
        writer.close()
    _check_profile(gpu, result, launch, profiles)
    return result, launch, {name: file.getvalue() for name, file in files.items()}


def predicted(gpu, asked, watchers):
    return predict_gpu(gpu, replace(asked, trace=False), watchers=watchers).result


def _check_profile(gpu, result, launch, profiles):
    """Each SM's cycles are those that it has counted, and its warps have numbers of their own."""
    counted = [counters["cycles"] * gpu.sm.schedulers for counters in result.sm_counters]
    assert [sum(cell.cycles for cell in profile.cells()) for profile in profiles] == counted
    summary = Summary(profiles, launch.image)
    assert summary.cycles == sum(counted) and summary.sms == gpu.sms
    of_sms = Counter()
    for warp in summary.as_json()["warps"]:
        if warp["warp"] is not None:
            of_sms[warp["warp"] // gpu.sm.warps] += warp["uses"].get("issued", 0)
    assert of_sms == {sm: counters["committed"] for sm, counters in enumerate(result.sm_counters)}


@pytest.mark.parametrize("gpu", GPUS)
def test_traces_of_several_sms(gpu):
    result, launch, files = traced(gpu)
    assert result.status == "ended"
    rows = list(csv.DictReader(io.StringIO(files[".csv"].decode())))
    assert [int(row["cycle"]) for row in rows] == sorted(int(row["cycle"]) for row in rows)
    _check_sms(gpu, result, launch, rows)
    _check_port(gpu, result, rows)
    table = parquet.read_table(io.BytesIO(files[".parquet"]))
    assert table.num_rows == len(rows)
    assert table["sm"].to_pylist() == [None if row["sm"] == "" else int(row["sm"]) for row in rows]
    _check_perfetto(gpu, files[".pftrace"], rows)
    _check_page(gpu, files[".html"].decode(), result, rows)


@pytest.mark.more
@pytest.mark.parametrize("how", [{}, {"kernel": "vecadd", "size": 32, "memory": "fixed", "latency": 1}], ids=str)
@pytest.mark.parametrize("gpu", GPUS)
def test_a_prediction_writes_the_same_files(gpu, how):
    (_, _, measured), (_, _, computed) = traced(gpu, run_gpu, **how), traced(gpu, predicted, **how)
    assert [name for name in GPU_FORMATS if measured[name] != computed[name]] == []
    if how and gpu.l2 is L2Kind.SHARED:
        # Some answers wait until the L2 takes them: their rows are not in the cycle in which they are due.
        began, waits = {}, Counter()
        for row in csv.DictReader(io.StringIO(measured[".csv"].decode())):
            if row["event"] == "request":
                began[row["tag"]] = int(row["cycle"])
            elif row["event"] == "answer":
                waits[int(row["cycle"]) - began[row["tag"]]] += 1
        assert set(waits) == {1, 2}


def _check_sms(gpu, result, launch, rows):
    """The rows of an SM are those of its own trace."""
    for sm in range(gpu.sms):
        config, file = gpu.sm_of(sm), io.BytesIO()
        alone = CycleStream(config, [CsvTrace(config, file, About(name="", facts=[], image=launch.image))])
        alone.begin()
        # As of one SM, a watcher does not get the cycle in which the run is found to be over.
        alone.take(events_of(config, result.sm_events[sm][:-1]))
        alone.finish()
        mine = [{name: text for name, text in row.items() if name != "sm"} for row in rows
                if row["sm"] == str(sm) and row["event"] not in ("request", "answer")]
        assert mine == list(csv.DictReader(io.StringIO(file.getvalue().decode())))
        issues = sum(row["event"] == "issue" for row in mine)
        assert issues >= result.sm_counters[sm]["committed"] > 0


def _check_port(gpu, result, rows):
    """Every request has one answer, later, and memory has counted as many."""
    requests = [row for row in rows if row["event"] == "request"]
    answers = [row for row in rows if row["event"] == "answer"]
    statistics = result.memory_statistics
    writes = [row for row in requests if row["detail"] == "data_write"]
    assert len(writes) == statistics["writes"] and len(requests) - len(writes) == statistics["reads"]
    open_at, waits = {}, defaultdict(list)
    for row in sorted(requests + answers, key=lambda row: (int(row["cycle"]), row["event"] == "request")):
        if row["event"] == "request":
            assert row["tag"] not in open_at and int(row["address"], 16) % LINE_BYTES == 0
            open_at[row["tag"]] = row
        else:
            asked = open_at.pop(row["tag"])
            assert (asked["sm"], asked["detail"]) == (row["sm"], row["detail"])
            waits[row["sm"]].append(int(row["cycle"]) - int(asked["cycle"]))
    assert open_at == {} and min(min(each) for each in waits.values()) > 0
    assert set(waits) == ({""} if gpu.l2 is L2Kind.SHARED else {str(sm) for sm in range(gpu.sms)})
    kinds = {row["detail"] for row in requests}
    assert kinds == ({"", "data_write"} if gpu.l2_parts else {"code_read", "data_read", "data_write"})


def _check_page(gpu, page, result, rows):
    """A run for each SM: its profile is what the SM has counted, and its rows have the issues of its warps."""
    runs = [json.loads(text) for text in re.findall(r'class="run" id="run-\d+">(.*)</script>', page)]
    assert [run["sm"] for run in runs] == list(range(gpu.sms))
    assert [f"<b>SM {sm}:</b>" in page for sm in range(gpu.sms + 1)] == [True] * gpu.sms + [False]
    assert 'id="align"' not in page and '<label hidden><input id="chain"' in page
    said = Counter((int(row["sm"]), int(row["warp"])) for row in rows if row["event"] == "issue")
    for sm, run in enumerate(runs):
        assert run["chain"] == run["numbers"] == [] and all(each["group"] != "port" for each in run["states"])
        assert sum(cell[3] for cell in run["profile"]["cells"]) == (
            result.sm_counters[sm]["cycles"] * gpu.sm.schedulers)
        issues = Counter()
        for text in re.findall(rf'data-run="{sm}" data-level="0" data-block="\d+">([^<]*)<', page):
            content, states = zlib.decompress(base64.b64decode(text)), len(run["states"])
            count = len(content) // (states + 8 * gpu.sm.schedulers)
            shown = np.frombuffer(content, np.uint8, states * count).reshape(states, count)
            issues.update({(sm, warp): int((shown[warp] == 1).sum()) for warp in range(gpu.sm.warps)})
        assert issues == {place: number for place, number in said.items() if place[0] == sm}


def _check_perfetto(gpu, content, rows):
    """A process for each SM, with the issues of its warps, and one for the interconnect, with all transfers."""
    names, tracks, processes, counts, open_slices = {}, {}, {}, Counter(), set()
    events = []
    for packet in proto.Trace.FromString(content).packet:
        sequence, described = packet.trusted_packet_sequence_id, packet.track_descriptor
        for category in packet.interned_data.event_categories:
            names[sequence, category.iid] = category.name
        if described.HasField("process"):
            assert described.uuid not in processes
            processes[described.uuid] = described.process.pid, described.process.process_name
        elif described.uuid:
            assert described.uuid not in tracks
            pid = described.thread.pid or processes[described.parent_uuid][0]
            tracks[described.uuid] = pid, described.name or "a warp"
        if packet.HasField("track_event"):
            events.append((packet.timestamp, sequence, packet.track_event))
    named = dict(processes.values())
    assert list(named.values()) == [*(f"a run, SM {sm}" for sm in range(gpu.sms)), "a run, interconnect"]
    assert sum(name == "a warp" for _, name in tracks.values()) == gpu.sms * gpu.sm.warps
    # At one time, an end is before a begin.
    for _, sequence, event in sorted(events, key=lambda each: (each[0], each[2].type == _EVENT.TYPE_SLICE_BEGIN)):
        pid, name = tracks[event.track_uuid]
        if event.type == _EVENT.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in open_slices
            open_slices.add(event.track_uuid)
            counts[named[pid], names[sequence, event.category_iids[0]], name] += 1
        elif event.type == _EVENT.TYPE_SLICE_END:
            open_slices.remove(event.track_uuid)
    assert not open_slices
    # The write buffer and the reads under way are not counted without the transfers at the SM's own port.
    assert {name for _, name in tracks.values()} & {"write buffer", "reads under way"} == set()
    said = Counter((row["event"], row["sm"]) for row in rows)
    assert {sm: counts[f"a run, SM {sm}", "issue", "a warp"] for sm in range(gpu.sms)} == {
        sm: said["issue", str(sm)] for sm in range(gpu.sms)}
    for kind in ("request", "answer"):
        assert counts["a run, interconnect", "memory", f"{kind}s"] == sum(row["event"] == kind for row in rows) > 0
