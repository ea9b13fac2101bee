"""Traces for Perfetto: the wire format, and what is at the edges."""

import io

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from metronome.hdl.presets import TINY
from metronome.sim.predict.predictor import predict
from metronome.sim.program.kernels import prepare
from metronome.sim.run.types import RunRequest
from metronome.sim.show.trace.about import About
from metronome.sim.show.trace.cycles import CycleStream
from metronome.sim.show.trace.packets import Packets
from metronome.sim.show.trace.perfetto import PerfettoTrace
from metronome.sim.show.trace.protobuf import Template, double, fixed, number, text
from tests.sim.show.trace.perfetto_reader import tables, trace_processor


def test_fields_are_what_googles_classes_read():
    for value in (0, 1, 127, 128, 300, 1 << 40, (1 << 63) - 1):
        for width in (0, 3, 10):
            packet = proto.TracePacket.FromString(number(8, value, width))
            assert packet.timestamp == value
            assert number(8, value) == packet.SerializeToString()  # without padding there is one form
    descriptor = text(2, "naïve") + number(1, 5)
    packet = proto.TracePacket.FromString(text(60, descriptor))
    assert (packet.track_descriptor.name, packet.track_descriptor.uuid) == ("naïve", 5)
    event = proto.TrackEvent.FromString(fixed(47, 1 << 60) + double(44, 0.25))
    assert (list(event.flow_ids), event.double_counter_value) == ([1 << 60], 0.25)


def test_many_messages_of_a_template():
    values = {"time": [0, 7, 1 << 40], "track": [1, 200, 16_383], "name": [3, 2, 1]}
    template = Template(lambda **each: Packets(1).begin("stall", **each), time=6, track=3, name=3)
    content = template.fill(**{name: np.array(each) for name, each in values.items()})
    trace = proto.Trace.FromString(content)
    assert [packet.timestamp for packet in trace.packet] == values["time"]
    assert [packet.track_event.track_uuid for packet in trace.packet] == values["track"]
    assert [packet.track_event.name_iid for packet in trace.packet] == values["name"]
    with pytest.raises(ValueError, match=r"track must be below 2097152, not 2097152"):
        template.fill(time=np.array([0]), track=np.array([1 << 21]), name=np.array([1]))


def traced(kernel="psum", max_cycles=10_000_000):
    request = RunRequest(launch=prepare(kernel, None, 8, 1, TINY), policy="lrr", memory="dram", max_cycles=max_cycles)
    file = io.BytesIO()
    about = About(name="a run", facts=[("seed", "1")], image=request.launch.image)
    stream = CycleStream(TINY, [PerfettoTrace(TINY, file, about)])
    result = predict(TINY, request, watcher=stream).result
    stream.finish()
    return result, file.getvalue()


@pytest.mark.parametrize("max_cycles", [300, 1000, 10_000_000])
def test_a_run_that_is_cut_off_is_whole(max_cycles):
    """Every slice ends, at the last cycle if not before."""
    result, content = traced(max_cycles=max_cycles)
    with tables(content) as base:
        assert base    .execute("SELECT max(ts + dur) FROM slice").fetchone()[0] <= result.total_cycles + 1
        assert base.execute("SELECT count(*) FROM slice WHERE dur <= 0").fetchone()[0] == 0


def test_the_process_says_what_was_run_and_what_made_it():
    trace = proto.Trace.FromString(traced(max_cycles=300)[1])
    labels = next(packet.track_descriptor.process.process_labels for packet in trace.packet
                  if packet.track_descriptor.HasField("process"))
    assert labels[0] == "seed: 1" and labels[1].startswith("made by: Metronome")


def test_instructions_say_where_they_are():
    _, content = traced()
    image = prepare("psum", None, 8, 1, TINY).image
    with tables(content) as base:
        rows = base.execute("""
            SELECT pc.value, source.value, lanes.value FROM slice
            JOIN args pc ON pc.slice = slice.id AND pc.key = 'pc'
            JOIN args source ON source.slice = slice.id AND source.key = 'source'
            JOIN args lanes ON lanes.slice = slice.id AND lanes.key = 'lanes' WHERE category = 'issue'
        """).fetchall()
    assert len(rows) > 500
    for pc, source, lanes in rows:
        line = image.source_line(pc)
        assert source == line or line is None
        assert 0 < lanes < 4


def test_loads_flow_to_memory_and_back():
    result, content = traced()
    with tables(content) as base:
        steps = base.execute("""
            SELECT a.track, b.track, a.ts <= b.ts, x.value = y.value FROM flow
            JOIN slice a ON a.id = slice_out JOIN slice b ON b.id = slice_in
            JOIN args x ON x.slice = a.id AND x.key = 'address' JOIN args y ON y.slice = b.id AND y.key = 'address'
        """).fetchall()
        misses = base.execute("SELECT count(*) FROM slice WHERE name LIKE 'load_miss%'").fetchone()[0]
    assert all(in_order and same for _, _, in_order, same in steps)
    kinds = {(one, other.rstrip("0123456789")) for one, other, _, _ in steps}
    assert ("load/store", "memory: data_read ") in kinds
    assert any(one.startswith("memory: data_read") and other == "fills" for one, other, _, _ in steps)
    assert misses >= result.region.loads.misses > 0


@pytest.mark.skipif(trace_processor() is None, reason="there is no trace_processor_shell: get.perfetto.dev")
def test_perfettos_own_program_reads_it(tmp_path):
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    _, content = traced()
    file = tmp_path / "a.pftrace"
    file.write_bytes(content)
    config = TraceProcessorConfig(bin_path=trace_processor())
    with tables(content) as ours, TraceProcessor(str(file), config=config) as processor:
        for question in (
            "SELECT category, count(*) AS n, sum(dur) AS d FROM slice GROUP BY category ORDER BY category",
            "SELECT name, sum(dur) AS n, count(*) AS d FROM slice WHERE category = 'stall' GROUP BY name ORDER BY name",
        ):
            assert [(row.n, row.d) for row in processor.query(question)] == [row[1:] for row in ours.execute(question)]
