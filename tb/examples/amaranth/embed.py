"""Amaranth design around the SM: on-chip memory with a program, and signals for a board to connect.

    python embed.py IMAGE [--preset TINY] [--latency 4] -o embedded.v

IMAGE is the output of ``metronome build --image`` for the same preset. The design starts by itself after reset.
"""

import argparse
from pathlib import Path

from amaranth.back import verilog
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import fifo, memory
from amaranth.lib.wiring import In, Out

from metronome.hdl.config import LINE_BYTES, SmConfig
from metronome.hdl.layouts.memory import memory_request_layout, memory_response_layout
from metronome.hdl.lib.component import Component
from metronome.hdl.presets import PRESETS
from metronome.hdl.sm import Sm
from metronome.sim.program.image import read_words

__all__ = ["EmbeddedSm", "LineMemory"]


class LineMemory(Component):
    """Memory for the line port: a request in every cycle, each answered ``latency`` cycles later. One RAM per range.

    Parameters
    ----------
    config : SmConfig
        Of the SM; its layouts are those of the ports.
    ranges : list of range
        The byte addresses that exist, each range a whole number of lines; any other address returns an error.
    words : dict of int to int
        Byte address -> word, for words that are not 0 after reset.
    latency : int
        In cycles, at least 2.
    """

    def __init__(self, config: SmConfig, ranges: list[range], words: dict[int, int], *, latency: int) -> None:
        if latency < 2:
            raise ValueError(f"latency must be at least 2, not {latency!r}")
        self._request = memory_request_layout(config)
        self._response = memory_response_layout(config)
        self._tags = 1 << config.mem_tag_bits
        self._latency = latency
        self._lines = [range(each.start // LINE_BYTES, each.stop // LINE_BYTES) for each in ranges]
        self._init = [[_line(words, number) for number in lines] for lines in self._lines]
        super().__init__({
            "valid": In(1), "request": In(self._request),  # always ready: there is room for every tag
            "answer_valid": Out(1), "answer_ready": In(1), "answer": Out(self._response),
        })

    def elaborate(self, platform: object) -> Module:
        """Build the RAMs and a queue of responses."""
        m = Module()
        # A request passes through a chain of registers to the RAM, and its response waits for its turn in a queue. The
        # RAM and the queue take a cycle each.
        valid, request = self.valid, self.request
        for place in range(self._latency - 2):
            next_valid, next_request = Signal(name=f"valid_{place}"), Signal(self._request, name=f"request_{place}")
            m.d.sync += [next_valid.eq(valid), next_request.eq(request)]
            valid, request = next_valid, next_request

        m.submodules.queue = queue = fifo.SyncFIFO(width=self._response.size, depth=self._tags)
        here, datas = [], []
        for place, lines in enumerate(self._lines):
            ram = memory.Memory(shape=LINE_BYTES * 8, depth=len(lines), init=self._init[place])
            m.submodules[f"ram_{place}"] = ram
            write, read = ram.write_port(granularity=8), ram.read_port()
            inside = Signal(name=f"inside_{place}")
            offset = (request.line - lines.start)[: len(read.addr)]
            m.d.comb += [
                inside.eq((request.line >= lines.start) & (request.line < lines.stop)),
                read.addr.eq(offset), write.addr.eq(offset), write.data.eq(request.data),
                write.en.eq(Mux(valid & inside & request.write, request.byte_mask, 0)),
            ]
            was_inside = Signal(name=f"was_inside_{place}")
            m.d.sync += was_inside.eq(inside)
            here.append(was_inside)
            datas.append(read.data)

        answer, tag, arrives = Signal(self._response), Signal.like(request.tag), Signal()
        m.d.sync += [arrives.eq(valid), tag.eq(request.tag)]
        m.d.comb += [
            answer.tag.eq(tag),
            queue.w_en.eq(arrives),
            answer.error.eq(~Cat(*here).any()),
            queue.w_data.eq(answer),
            self.answer_valid.eq(queue.r_rdy),
            self.answer.eq(queue.r_data),
            queue.r_en.eq(self.answer_ready),
        ]
        for was_inside, word in zip(here, datas, strict=True):
            with m.If(was_inside):
                m.d.comb += answer.data.eq(word)
        return m


def _line(words: dict[int, int], number: int) -> int:
    first = number * LINE_BYTES
    return sum(words.get(first + place, 0) << 8 * place for place in range(0, LINE_BYTES, 4))


class EmbeddedSm(Component):
    """An SM with a program in memory. It starts in the cycle after reset.

    ``done``: the program has ended with ``exit_code``, or ``fault`` has stopped it; ``cycles`` is how long it ran. An
    LED could show either. ``store``: memory takes a write now, of the bytes ``store_mask`` of line ``store_line``; for
    observers.
    """

    def __init__(self, config: SmConfig, words: dict[int, int], entry: int, argument: int, *, latency: int = 4) -> None:
        self._config, self._entry, self._argument = config, entry, argument
        self._memory = LineMemory(config, _ranges(config, words), words, latency=latency)
        super().__init__({
            "done": Out(1), "fault": Out(1), "exit_code": Out(32), "cycles": Out(48),
            "store": Out(1), "store_line": Out(26), "store_mask": Out(LINE_BYTES), "store_data": Out(8 * LINE_BYTES),
        })

    def elaborate(self, platform: object) -> Module:
        """Connect the SM and its memory."""
        m = Module()
        m.submodules.sm = sm = Sm(self._config)
        m.submodules.memory = ram = self._memory
        started, was_busy = Signal(), Signal()
        request = sm.mem.req
        takes = Signal()
        m.d.sync += [started.eq(1), was_busy.eq(sm.busy)]
        with m.If(was_busy & ~sm.busy):
            m.d.sync += self.done.eq(1)
        with m.If(~self.done & (sm.busy | sm.start)):
            m.d.sync += self.cycles.eq(self.cycles + 1)
        m.d.comb += [
            sm.start.eq(~started), sm.start_pc.eq(self._entry), sm.arg.eq(self._argument),
            request.ready.eq(1), takes.eq(request.valid & request.payload.write),
            ram.valid.eq(request.valid), ram.request.eq(request.payload),
            sm.mem.resp.valid.eq(ram.answer_valid), sm.mem.resp.payload.eq(ram.answer),
            ram.answer_ready.eq(sm.mem.resp.ready),
            self.fault.eq(sm.fault_valid),
            self.store.eq(takes), self.store_line.eq(request.payload.line),
            self.store_mask.eq(request.payload.byte_mask), self.store_data.eq(request.payload.data),
        ]
        place = self._config.memory_map.exit_code
        with m.If(takes & (request.payload.line == place // LINE_BYTES)):
            for byte in range(4):
                bit = place % LINE_BYTES + byte
                with m.If(request.payload.byte_mask[bit]):
                    m.d.sync += self.exit_code.word_select(byte, 8).eq(request.payload.data.word_select(bit, 8))
        return m


def _ranges(config: SmConfig, words: dict[int, int]) -> list[range]:
    """Return the smallest memory for the program: the console, the buffers, the program, the stacks."""
    places = config.memory_map
    stacks = range(places.stack_top - places.stack_bytes_per_hart * config.harts, places.stack_top)
    buffers = [address for address in words if places.user <= address < places.start]
    code = [address for address in words if places.start <= address < stacks.start]

    def around(addresses: list[int], first: int, room: int) -> range:
        last = max(addresses, default=first)
        return range(first, (last + room) // LINE_BYTES * LINE_BYTES + LINE_BYTES)

    # Results and zeros have no words in the image, so leave room after the words it has.
    console = range(places.first, 4 * LINE_BYTES)
    return [console, around(buffers, places.user, 4096), around(code, places.start, 4096), stacks]


def main() -> None:
    """Write the design as Verilog."""
    parser = argparse.ArgumentParser(description="The SM with a program in on-chip memory, as Verilog.")
    parser.add_argument("image", type=Path, help="a file that metronome build --image wrote")
    parser.add_argument("--preset", choices=PRESETS, default="TINY")
    parser.add_argument("--latency", type=int, default=4, help="of memory, in cycles; default 4")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file of Verilog")
    asked = parser.parse_args()

    text = asked.image.read_text()
    facts = {words[1]: words[2:] for line in text.splitlines() if (words := line.split())[0] == "//"}
    config = PRESETS[asked.preset].for_chip(policies=("lrr",))
    design = EmbeddedSm(
        config, dict(read_words(text)), int(facts["entry"][0], 0), int(facts["argument"][0], 0), latency=asked.latency
    )
    asked.output.write_text(verilog.convert(design, name="embedded", emit_src=False))


if __name__ == "__main__":
    main()
