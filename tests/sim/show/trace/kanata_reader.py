"""Kanata 0004 once more: a reader, written from the published description of the format (not from the writer)."""

from dataclasses import dataclass, field


@dataclass
class Entry:
    """An instruction of the file: its stages as (lane, name, first cycle, last cycle + 1)."""

    thread: int
    begun: int
    labels: dict[int, str] = field(default_factory=lambda: {0: "", 1: ""})
    stages: list[tuple[int, str, int, int]] = field(default_factory=list)
    open: dict[int, tuple[str, int]] = field(default_factory=dict)
    producers: list[int] = field(default_factory=list)
    ended: int | None = None
    flushed: bool = False


class FormatError(ValueError):
    """Not Kanata 0004."""


class _Reader:
    def __init__(self):
        self.entries, self.cycle, self.retired = {}, None, 0

    def alive(self, number):
        entry = self.entries.get(int(number))
        if entry is None or entry.ended is not None:
            raise FormatError(f"{number} is not alive in cycle {self.cycle}")
        return entry

    def close(self, entry, lane):
        name, since = entry.open.pop(lane)
        entry.stages.append((lane, name, since, self.cycle))

    def start_cycle(self, cycle):
        self.cycle = int(cycle)

    def pass_time(self, cycles):
        if int(cycles) < 1:
            raise FormatError("time does not pass")
        self.cycle += int(cycles)

    def instruction(self, number, _, thread):
        if int(number) != len(self.entries):
            raise FormatError(f"{number} is out of order")
        self.entries[int(number)] = Entry(int(thread), self.cycle)

    def label(self, number, kind, text):
        self.alive(number).labels[int(kind)] += text

    def stage(self, number, lane, name):
        entry, lane = self.alive(number), int(lane)
        if lane in entry.open:
            self.close(entry, lane)
        entry.open[lane] = name, self.cycle

    def end_stage(self, number, lane, name):
        entry, lane = self.alive(number), int(lane)
        if entry.open[lane][0] != name:
            raise FormatError(f"{name} ends that has not begun")
        self.close(entry, lane)

    def end(self, number, retirement, kind):
        entry = self.alive(number)
        for lane in list(entry.open):
            self.close(entry, lane)
        entry.ended, entry.flushed = self.cycle, {"0": False, "1": True}[kind]
        if not entry.flushed:
            if int(retirement) != self.retired:
                raise FormatError(f"retirement {retirement} is out of order")
            self.retired += 1

    def wake_up(self, consumer, producer, kind):
        if int(producer) not in self.entries or kind != "0":
            raise FormatError("a producer that is not there")
        self.alive(consumer).producers.append(int(producer))


_COMMANDS = {
    "C=": _Reader.start_cycle, "C": _Reader.pass_time, "I": _Reader.instruction, "L": _Reader.label,
    "S": _Reader.stage, "E": _Reader.end_stage, "R": _Reader.end, "W": _Reader.wake_up,
}


def read_kanata(text):
    """The entries by their numbers. Every command is checked: its fields, its order, that what it names is alive."""
    lines = text.split("\n")
    if lines[0] != "Kanata\t0004" or lines.pop() != "":
        raise FormatError("header or last line")
    reader = _Reader()
    for line in lines[1:]:
        command, *fields = line.split("\t")
        if command not in _COMMANDS or (reader.cycle is None and command != "C="):
            raise FormatError(f"not expected: {line!r}")
        _COMMANDS[command](reader, *fields)
    if any(entry.ended is None for entry in reader.entries.values()):
        raise FormatError("an instruction has no end")
    return reader.entries
