"""A trace for Perfetto as tables for SQL: by its own trace processor, or by its own classes and SQLite.

The trace processor is a program that the package perfetto fetches from the network when it is first used. Without it
the messages are decoded by the package's classes (Google's Protocol Buffers) and put into tables of the same names by
the rules of perfetto.dev, "Track events". So the same questions are asked either way.
"""

import contextlib
import os
import shutil
import sqlite3

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

EVENT = proto.TrackEvent


def trace_processor():
    """The path of Perfetto's program, or None: METRONOME_TRACE_PROCESSOR, or on the PATH."""
    return os.environ.get("METRONOME_TRACE_PROCESSOR") or shutil.which("trace_processor_shell")


@contextlib.contextmanager
def tables(content):
    """A connection with the tables, closed at the block's end.

    `slice` (id, ts, dur, track, name, category), `args` (slice, key, value), `counter` (ts, track, value) and `flow`
    (slice_out, slice_in).
    """
    trace = proto.Trace()
    trace.ParseFromString(content)
    names, tracks, events = {}, {}, []
    for packet in trace.packet:
        if packet.HasField("interned_data"):
            for field, entries in packet.interned_data.ListFields():
                for entry in entries:
                    text = entry.name if hasattr(entry, "name") else entry.str.decode()
                    assert names.setdefault((field.name, entry.iid), text) == text
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid not in tracks
            tracks[track.uuid] = track.thread.thread_name or track.process.process_name or track.name
            assert not track.HasField("parent_uuid") or track.parent_uuid in tracks
        if packet.HasField("track_event"):
            # What an event says by number must have been told before.
            event = packet.track_event
            assert event.track_uuid in tracks
            events.append((packet.timestamp, event, [
                names["event_names", event.name_iid] if event.name_iid else "",
                names["event_categories", event.category_iids[0]] if event.category_iids else "",
                dict(noted(each, names) for each in event.debug_annotations),
            ]))
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        fill(base, sorted(events, key=lambda each: each[0]), tracks)  # stable, as the trace processor's
        yield base


def noted(annotation, names):
    key = names["debug_annotation_names", annotation.name_iid]
    if annotation.string_value_iid:
        return key, names["debug_annotation_string_values", annotation.string_value_iid]
    return key, annotation.pointer_value


def fill(base, events, tracks):
    base.executescript("""
        CREATE TABLE slice (id INTEGER PRIMARY KEY, ts INT, dur INT, track TEXT, name TEXT, category TEXT);
        CREATE TABLE args (slice INT, key TEXT, value);
        CREATE TABLE counter (ts INT, track TEXT, value REAL);
        CREATE TABLE flow (slice_out INT, slice_in INT);
    """)
    opened, flows = {}, {}
    for time, event, (name, category, notes) in events:
        track = tracks[event.track_uuid]
        if event.type == EVENT.TYPE_SLICE_BEGIN:
            assert opened.get(track) is None, f"two slices at once on {track} at {time}"
            number = base.execute(
                "INSERT INTO slice (ts, track, name, category) VALUES (?, ?, ?, ?)", (time, track, name, category)
            ).lastrowid
            opened[track] = number
            base.executemany("INSERT INTO args VALUES (?, ?, ?)", [(number, *note) for note in notes.items()])
            for flow in [*event.flow_ids, *event.terminating_flow_ids]:
                if flow in flows:
                    base.execute("INSERT INTO flow VALUES (?, ?)", (flows[flow], number))
                flows[flow] = number
            for flow in event.terminating_flow_ids:
                del flows[flow]
        elif event.type == EVENT.TYPE_SLICE_END:
            base.execute("UPDATE slice SET dur = ? - ts WHERE id = ?", (time, opened.pop(track)))
        else:
            assert event.type == EVENT.TYPE_COUNTER
            number = event.double_counter_value if event.HasField("double_counter_value") else event.counter_value
            base.execute("INSERT INTO counter VALUES (?, ?, ?)", (time, track, number))
    assert not opened, "a slice never ends"
