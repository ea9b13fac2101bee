"""Traces of several SMs: a writer for each SM, and one for the transfers at the memory port, all of one file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Protocol

import numpy as np

from metronome.hdl.config import LINE_BYTES
from metronome.hdl.gpu.config import GpuConfig, L2Kind

from ...build.origin import origin
from ...machine.events import NONE
from ...run.gpu.records import TRANSFER
from .about import About
from .cycles import Cycles, Sink
from .packets import Packets, annotation
from .page import PageRun, page_head, page_tail
from .perfetto import PIDS, TRACKS, PerfettoTrace
from .protobuf import number, text
from .rows import DETAILS, ROW, SOURCES, Kind, Rows, sources_of
from .tables import CsvTrace, ParquetTrace

__all__ = ["GPU_FORMATS", "GpuTrace", "gpu_writer_of"]

#: The formats, by file name suffix.
GPU_FORMATS = (".html", ".csv", ".parquet", ".pftrace")


class GpuTrace(Protocol):
    """A trace of a GPU. First ``sms[0]`` begins, then the others; the transfers of a cycle come before its SMs'."""

    sms: Sequence[Sink]

    def transfers(self, transfers: np.ndarray) -> None:
        """Take the next transfers at the memory port (:data:`sim.run.gpu.records.TRANSFER`)."""

    def close(self) -> None:
        """End the file, after all of ``sms`` have finished."""


def gpu_writer_of(name: str, gpu: GpuConfig, file: IO[bytes], about: About) -> GpuTrace:
    """Make the writer of a trace in the format ``name``, one of :data:`GPU_FORMATS`."""
    if name == ".pftrace":
        return _Perfetto(gpu, file, about)
    if name == ".html":
        return _Page(gpu, file, about)
    return _Table(gpu, (CsvTrace if name == ".csv" else ParquetTrace)(gpu.sm_of(0), file, about, of_sms=True))


def _senders(gpu: GpuConfig, tags: np.ndarray, writes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the SM of each request, and the kind of its sender as an index into SOURCES; NONE: not known.

    A shared L2 makes requests of its own. A divided one belongs to an SM, and its reads are for code and data.
    """
    bits = gpu.sm.mem_tag_bits
    sms = np.full(len(tags), NONE) if gpu.l2 is L2Kind.SHARED else tags >> bits
    if gpu.l2_parts:
        return sms, np.where(writes, SOURCES.index("data_write"), NONE)
    return sms, sources_of(gpu.sm, tags & (1 << bits) - 1)


class _Transfers:
    """The requests and answers at the memory port."""

    def __init__(self, gpu: GpuConfig) -> None:
        self._gpu = gpu
        #: By tag, whether the request that waits is a write.
        self._writes = np.zeros(1 << gpu.mem_tag_bits, bool)

    def of(self, transfers: np.ndarray) -> np.ndarray:
        """Return ROW of the next transfers, in order; the answer in a cycle comes after the request."""
        answered = np.zeros(len(transfers), bool)
        for place, each in enumerate(transfers):
            if each["request"]:
                self._writes[each["tag"]] = each["write"]
            answered[place] = self._writes[each["answer_tag"]]
        requests, answers = transfers[transfers["request"]], transfers[transfers["answer"]]
        rows = np.concatenate([
            self._rows(requests, Kind.REQUEST, requests["tag"], requests["write"], line=requests["line"]),
            self._rows(answers, Kind.ANSWER, answers["answer_tag"], answered[transfers["answer"]]),
        ])
        return rows[np.argsort(rows["cycle"], kind="stable")]

    def _rows(self, transfers: np.ndarray, kind: Kind, tags: np.ndarray, writes: np.ndarray,
              line: np.ndarray | int = NONE) -> np.ndarray:
        rows = np.zeros(len(transfers), ROW)
        for name in ROW.names or ():
            rows[name] = NONE
        sms, senders = _senders(self._gpu, tags, writes)
        names = [DETAILS.index(name) for name in SOURCES]
        errors = [DETAILS.index(f"{name}_error") for name in SOURCES]
        refused = transfers["error"] & (kind is Kind.ANSWER)
        details = np.where(refused, np.array(errors)[senders], np.array(names)[senders])
        rows["cycle"], rows["kind"], rows["tag"], rows["line"], rows["sm"] = transfers["cycle"], kind, tags, line, sms
        rows["detail"] = np.where(senders == NONE, NONE, details)
        return rows


class _Part:
    """The sink of one SM."""

    def __init__(self, whole: _Together, sm: int) -> None:
        self._whole, self._sm = whole, sm

    def begin(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        if self._sm == 0:
            self._whole.begin()

    def take(self, partitions: Sequence[Cycles]) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""
        self._whole.take(self._sm, partitions)

    def finish(self) -> None:
        """See :class:`sim.show.trace.cycles.Sink`."""


class _Together:
    """Holds back what has come until all SMs have the same cycles, so that the file does not depend on the order."""

    def __init__(self, gpu: GpuConfig) -> None:
        self._gpu = gpu
        self.sms: Sequence[Sink] = [_Part(self, number) for number in range(gpu.sms)]

    def begin(self) -> None:
        """Start a run."""
        self._port = [np.zeros(0, TRANSFER)]
        #: By SM, the groups of cycles that not all SMs have passed on.
        self._waiting: list[list[Sequence[Cycles]]] = [[] for _ in self.sms]

    def transfers(self, transfers: np.ndarray) -> None:
        """See :class:`GpuTrace`."""
        self._port.append(transfers)

    def take(self, sm: int, partitions: Sequence[Cycles]) -> None:
        """Take the next cycles of an SM; all SMs have the same groups of cycles."""
        self._waiting[sm].append(partitions)
        while all(self._waiting):
            group = [waiting.pop(0) for waiting in self._waiting]
            port, end = np.concatenate(self._port), int(group[0][0].events["cycle"][-1])
            self._port = [port[port["cycle"] > end]]
            self.write(group, port[port["cycle"] <= end])

    def write(self, group: Sequence[Sequence[Cycles]], port: np.ndarray) -> None:
        """Write the same cycles of each SM, and the transfers in them."""
        raise NotImplementedError


class _Table(_Together):
    """CSV or Parquet: the rows of all SMs by cycle, in a cycle first those of the memory port, then SM by SM."""

    def __init__(self, gpu: GpuConfig, table: CsvTrace | ParquetTrace) -> None:
        super().__init__(gpu)
        self._table = table
        self._rows = [Rows(gpu.sm_of(number)) for number in range(gpu.sms)]

    def begin(self) -> None:
        """Start a run."""
        super().begin()
        self._transfers = _Transfers(self._gpu)
        self._table.begin()

    def write(self, group: Sequence[Sequence[Cycles]], port: np.ndarray) -> None:
        """See :class:`_Together`."""
        parts = [self._transfers.of(port)]
        for sm, (rows, partitions) in enumerate(zip(self._rows, group, strict=True)):
            parts.append(rows.of(partitions))
            parts[-1]["sm"] = sm
        every = np.concatenate(parts)
        self._table.write(every[np.argsort(every["cycle"], kind="stable")])

    def close(self) -> None:
        """See :class:`GpuTrace`."""
        self._table.finish()


class _Perfetto(_Together):
    """Perfetto: a process for each SM, and one for the interconnect."""

    def __init__(self, gpu: GpuConfig, file: IO[bytes], about: About) -> None:
        super().__init__(gpu)
        self._file = file
        self._traces = [PerfettoTrace(gpu.sm_of(number), file, about, sm=number) for number in range(gpu.sms)]
        self._packets = Packets(1 + gpu.sms)
        self._pid, self._process = 1 + PIDS * gpu.sms, 1 + TRACKS * gpu.sms
        self._name = f"{about.name}, interconnect"
        #: The tracks of requests and answers, by kind.
        self._tracks: dict[int, int] = {}
        self._names: dict[str, int] = {}

    def begin(self) -> None:
        """Start a run."""
        super().begin()
        for trace in self._traces:
            trace.begin()
        process = number(1, self._pid) + text(6, self._name)
        self._file.write(text(1, text(60, number(1, self._process) + text(3, process))) + self._packets.first())
        self._transfers = _Transfers(self._gpu)
        for place, (kind, name) in enumerate(((Kind.REQUEST, "requests"), (Kind.ANSWER, "answers")), 1):
            track = self._process + place
            self._file.write(text(1, text(60, number(1, track) + text(2, name) + number(5, self._process))))
            self._tracks[kind] = track

    def write(self, group: Sequence[Sequence[Cycles]], port: np.ndarray) -> None:
        """See :class:`_Together`: a slice of a cycle for each transfer, with the SM as its name."""
        for trace, partitions in zip(self._traces, group, strict=True):
            trace.take(partitions)
        ends, begins, new = [], [], []
        for row in self._transfers.of(port):
            sm = "L2" if row["sm"] == NONE else f"SM {row['sm']}"
            name = sm if row["detail"] == NONE else f"{sm}: {DETAILS[row['detail']]}"
            if name not in self._names:
                self._names[name] = len(self._names) + 1
                new.append(text(2, number(1, self._names[name]) + text(2, name)))
            cycle, track = int(row["cycle"]), self._tracks[int(row["kind"])]
            more = b"" if row["line"] == NONE else annotation("address", 7, int(row["line"]) * LINE_BYTES)
            begins.append(self._packets.begin("memory", cycle, track, self._names[name], more))
            ends.append(self._packets.end(cycle + 1, track))
        self._file.writelines([self._packets.names(new)] * bool(new) + ends + begins)

    def close(self) -> None:
        """See :class:`GpuTrace`."""
        for trace in self._traces:
            trace.finish()


class _Page(_Together):
    """A page with the rows of all SMs, one below the other."""

    def __init__(self, gpu: GpuConfig, file: IO[bytes], about: About) -> None:
        super().__init__(gpu)
        self._file, self._about = file, about
        self._runs = [PageRun(gpu.sm_of(number), file, about, number, sm=True) for number in range(gpu.sms)]

    def begin(self) -> None:
        """Start a run."""
        super().begin()
        self._file.seek(0)
        self._file.truncate()
        # The facts and the origin are the same for all SMs: they appear once, after the figures.
        others = len(self._runs) - 1
        self._file.write(page_head(self._about.name, [*[()] * others, self._about.facts],
                                   [*[None] * others, origin()], sms=True))
        for run in self._runs:
            run.begin()

    def write(self, group: Sequence[Sequence[Cycles]], port: np.ndarray) -> None:
        """See :class:`_Together`. The transfers at the memory port are not on the page."""
        for run, partitions in zip(self._runs, group, strict=True):
            run.take(partitions)

    def close(self) -> None:
        """See :class:`GpuTrace`."""
        self._file.write(page_tail([run.finish() for run in self._runs], None))
