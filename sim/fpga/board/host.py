"""Programs on a board: loaded, started, watched and read back through its serial line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from metronome.hdl.board.protocol import FILL_WORDS, PROTOCOL_VERSION, Info, Space, machine_digest
from metronome.hdl.board.regions import Region, Regions
from metronome.hdl.bus.register_table import COUNTERS_OFFSET, IDENTITY, MAP_VERSION, register_table
from metronome.hdl.config import LINE_BYTES, FaultCause, SmConfig
from metronome.hdl.layouts.counters import built_counters, counter_places

from ...machine.golden import Fault
from ...machine.memory.model import Console
from ...machine.memory.stacks import to_bus
from ...machine.memory.store import PAGE_BYTES, SparseMemory
from ...program.image import image_words
from ...program.kernels import Launch
from ...run.types import RunRequest, RunResult, no_counts, present
from .link import BoardError, Link

__all__ = ["Board", "BoardMemory", "Facts"]

_RUNS, _FAULT, _RESETS = 1, 2, 4
_START, _RESET = 1, 2
#: Console words requested at a time.
_CONSOLE_WORDS = 16
#: The maximum number of regions of a board; a larger number is invalid.
_MOST_REGIONS = 16
#: Polling does not slow a program down, because it reads only registers.
_POLL_SECONDS = 0.005


@dataclass(frozen=True)
class Facts:
    """Facts that a board reports about itself."""

    clock_hz: int
    machine: int
    regions: Regions

    @classmethod
    def of(cls, link: Link) -> Facts:
        """Read them from the board. Raises BoardError if it is not a Metronome board, or has another version."""
        version, clock, machine, count = link.read(Space.INFO, 0, len(Info))
        if version != PROTOCOL_VERSION or count > _MOST_REGIONS:
            raise BoardError(
                f"{link.name}: the board uses version {version} of the protocol, but this program uses version "
                f"{PROTOCOL_VERSION}: rebuild its bitstream with metronome board --output DIR"
            )
        words = link.read(Space.INFO, 4 * len(Info), 2 * count)
        try:
            regions = Regions(tuple(
                Region(name=f"region {n}", first=words[2 * n], size=words[2 * n + 1]) for n in range(count)
            ))
        except ValueError as error:
            raise BoardError(f"{link.name}: the board reports memory that is not possible: {error}") from None
        return cls(clock, machine, regions)


class BoardMemory(SparseMemory):
    """A board's memory as a program sees it: each word is read from the board, once."""

    def __init__(self, link: Link, config: SmConfig) -> None:
        super().__init__(config.memory_map)
        self._link, self._config = link, config
        self._known: set[int] = set()

    def read(self, addr: int, n: int) -> bytes:
        """See :meth:`SparseMemory.read`. Raises BoardError if the board has no memory there."""
        self._check(addr, n)
        lines = [line for line in range(addr // LINE_BYTES, -(-(addr + n) // LINE_BYTES)) if line not in self._known]
        for first, count in _runs(lines):
            self._fetch(first * LINE_BYTES, count * LINE_BYTES)
        self._known.update(lines)
        return super().read(addr, n)

    def _fetch(self, address: int, size: int) -> None:
        inside = self._config.interleaved_stacks
        if address + size <= inside.start or inside.stop <= address:
            words = self._link.read(Space.MEMORY, address, size // 4)
        else:  # word by word: it is not contiguous
            places = [to_bus(self._config, each) for each in range(address, address + size, 4)]
            words = [self._link.read(Space.MEMORY, place, 1)[0] for place in places]
        self.write(address, np.array(words, "<u4").tobytes())


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Return the start and length of each run of consecutive numbers in an ascending list."""
    start = 0
    for place in range(1, len(numbers) + 1):
        if place == len(numbers) or numbers[place] != numbers[place - 1] + 1:
            yield numbers[start], place - start
            start = place


class Board:
    """A board that has a machine with ``config``.

    Raises
    ------
    BoardError
        If the device is not a Metronome board, has another version, or another machine.
    """

    def __init__(self, link: Link, config: SmConfig) -> None:
        self._link, self._config = link, config
        self.facts = Facts.of(link)
        self._places = {its.name: its.offset for its in register_table(config)}
        identity, version = link.read(Space.REGISTERS, self._places["identity"], 2)
        if (identity, version) != (IDENTITY, MAP_VERSION):
            raise BoardError(f"{link.name}: the registers are those of {identity:#010x}, version {version}, and not of "
                             f"{IDENTITY:#010x}, version {MAP_VERSION}: rebuild the bitstream")
        if self.facts.machine != machine_digest(config):
            raise BoardError(
                f"{link.name}: the board's machine differs from the one requested: give the machine options "
                "(--preset, --set, ...) of its bitstream, or rebuild it"
            )

    def run(
        self, request: RunRequest, *, on_console: Callable[[str], None] | None = None,
        progress: Callable[[str], None] = lambda step: None,
    ) -> RunResult:
        """Load a program, run it to its end, and return the result.

        Of the request only ``launch``, ``policy``, ``fetch_policy`` and ``max_cycles`` are used. The result's memory is
        read from the board on access.

        Raises
        ------
        BoardError
            If the program does not fit, or the board stops answering.
        """
        launch = request.launch
        assert isinstance(launch, Launch), "a program without an image cannot be loaded"
        image = self._image(launch)
        progress("load")
        self._write("control", _RESET)
        self._settle()
        self._drain(Console(self._config.memory_map, lambda line: None))
        self._load(image)
        lines: list[str] = []

        def say(line: str) -> None:
            lines.append(line)
            if on_console is not None:
                on_console(line)

        progress("run")
        self._write("start_address", launch.entry)
        self._write("argument", launch.argument_address)
        self._write("policy", self._config.policies.index(request.policy))
        if request.fetch_policy is not None:
            self._write("fetch_policy", self._config.fetch_policies.index(request.fetch_policy))
        started = time.perf_counter()
        self._write("control", _START)
        console = Console(self._config.memory_map, say)
        status, in_time = self._wait(console, request.max_cycles)
        seconds = time.perf_counter() - started
        console.flush()
        progress("read the results")
        return self._result(status, in_time, "".join(lines), seconds)

    def close(self) -> None:
        """Close the line."""
        self._link.close()

    def _image(self, launch: Launch) -> list[tuple[int, list[int]]]:
        """Return the address and words of all memory that is not 0 at the start."""
        places = [(segment.address, segment.end - segment.address) for segment in launch.image.segments]
        places += [(address, len(data)) for address, data in (launch.buffers | launch.loads).values()]
        places.append((launch.argument_address, len(launch.arguments)))
        for address, size in places:
            if not self.facts.regions.has(address, size):
                have = ", ".join(f"{each.first:#010x}..{each.end - 1:#010x}" for each in self.facts.regions.parts)
                raise BoardError(
                    f"{launch.name} does not fit: it has {size} bytes at {address:#010x}, and the board has memory at "
                    f"{have}: choose a smaller --size, or write a bitstream with more memory"
                )
        memory = image_words(launch, self._config)
        found = []
        for page in memory.pages():
            low, high = max(page, memory.memory_map.first), min(page + PAGE_BYTES, memory.memory_map.end)
            words = np.frombuffer(memory.read(low, high - low), "<u4")
            rows = [line for line in range(0, len(words), 16) if words[line : line + 16].any()]
            for first, count in _runs([row // 16 for row in rows]):
                found.append((low + 64 * first, words[16 * first : 16 * (first + count)].tolist()))
        return found

    def _load(self, image: list[tuple[int, list[int]]]) -> None:
        """Set memory as at the start of a simulation: 0 except for the image."""
        for region in self.facts.regions.parts:
            self._link.clear(region.first, region.size)
            rest = region.size % (4 * FILL_WORDS)
            if rest:
                self._link.write(Space.MEMORY, region.end - rest, [0] * (rest // 4))
        for address, words in image:
            self._link.write(Space.MEMORY, address, words)

    def _write(self, register: str, value: int) -> None:
        self._link.write(Space.REGISTERS, self._places[register], [value])

    def _read(self, register: str, count: int = 1) -> list[int]:
        return self._link.read(Space.REGISTERS, self._places[register], count)

    def _settle(self) -> None:
        """Wait for the end of a reset, which only has to wait until operations in progress end."""
        for _ in range(100):
            if not self._read("status")[0] & (_RESETS | _RUNS):
                return
        raise BoardError(f"{self._link.name}: the reset of the board's machine does not end")

    def _drain(self, console: Console) -> None:
        """Read all words from the console."""
        count = 1  # usually there is nothing
        while True:
            words = [word for word in self._link.read(Space.CONSOLE, 0, count) if word >> 31]
            for word in words:
                place = self._config.memory_map.console % LINE_BYTES + (word >> 8 & 0x3F)
                console.store(1 << place, bytes(place) + bytes([word & 0xFF]) + bytes(LINE_BYTES))
            if len(words) < count:
                return
            count = _CONSOLE_WORDS

    def _wait(self, console: Console, max_cycles: int) -> tuple[int, bool]:
        """Return the status at the end of the program, and whether it ended within ``max_cycles``."""
        low = self._places["total_cycles_low"]
        while True:
            status = self._read("status")[0]
            self._drain(console)
            if not status & _RUNS:
                return status, True
            cycles, high = self._link.read(Space.REGISTERS, low, 2)
            if cycles | high << 32 > max_cycles:
                return status, False
            time.sleep(_POLL_SECONDS)

    def _result(self, status: int, in_time: bool, console: str, seconds: float) -> RunResult:
        name, fault, exit_code = "ended" if in_time else "hang", None, self._read("exit_code")[0]
        if status & _FAULT:
            name = "fault"
            cause, warp, pc, address = self._read("fault_cause", 4)
            fault = Fault(FaultCause(cause), warp, pc, address)
        counters = self._counters()
        if not in_time:
            self._write("control", _RESET)
        return RunResult(
            status=name, exit_code=exit_code, total_cycles=counters["total_cycles"],
            memory=BoardMemory(self._link, self._config), fault=fault, counters=counters, console=console,
            sim_seconds=seconds,
        )

    def _counters(self) -> dict[str, Any]:
        """Return the counters in the form that a simulation gives."""
        found = no_counts()
        # In one request: the high half belongs to the low half read just before it.
        places = [counter_places()[index] for index in built_counters(research=self._config.research_counters).values()]
        words = self._link.read(Space.REGISTERS, COUNTERS_OFFSET, 2 * len(places))
        for place, (counter, reason) in enumerate(places):
            value = words[2 * place] | words[2 * place + 1] << 32
            if counter.by_reason:
                found[counter.name][reason.name.lower()] = value
            else:
                found[counter.name] = value
        return present(self._config, found)
