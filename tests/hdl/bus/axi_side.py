"""Both sides of the AXI bridge in Amaranth's simulator: a random SM, a random slave, the rules, and what comes back.

The slave takes AW and W in any order, completes writes when it likes, mixes the beats of all reads and fails some
accesses. Memory changes when a write completes, in the cycle in which B is offered; so a bridge that answers before B
is caught by the read behind it.
"""

import random
from dataclasses import dataclass, field
from typing import Any

from amaranth.hdl import Elaboratable, Module

from metronome.hdl.bus.axi import AxiMaster
from metronome.hdl.presets import TINY
from metronome.tb import axi_rules
from tests.hdl.lib.simulate import drive, simulate

LINE = 64
OKAY, SLVERR, DECERR = 0, 2, 3


@dataclass(kw_only=True)
class Chances:
    """How often each side does what it may, in every cycle."""

    ask: float = 0.7
    write: float = 0.5
    take: float = 0.7  # the SM takes a response
    aw: float = 0.5
    w: float = 0.6
    ar: float = 0.5
    b: float = 0.3
    r: float = 0.6
    error: float = 0.05
    mixed: bool = True  # beats of several reads, one after the other
    both: bool = False  # the slave takes AW only while W is offered too, and W only while AW is, or was, taken


class Bench(Elaboratable):
    """The bridge with both sets of rules."""

    def __init__(self, bridge: AxiMaster) -> None:
        self.bridge = bridge
        self.tag_bits = len(bridge.port.request.payload.tag)
        self.rules = axi_rules.AxiRules(data_bits=bridge.data_bits, id_bits=bridge.id_bits)
        self.lines = axi_rules.LineRules(bridge.config, tag_bits=self.tag_bits)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.bridge, m.submodules.rules, m.submodules.lines = self.bridge, self.rules, self.lines
        self.rules.watch(m, self.bridge.axi)
        self.lines.watch(m, self.bridge.port)
        return m

    def broken(self, ctx: Any) -> list[str]:
        """The rules that are broken in this cycle."""
        return [
            *axi_rules.broken_rules(axi_rules.MASTER_RULES, ctx.get(self.rules.master)),
            *axi_rules.broken_rules(axi_rules.SLAVE_RULES, ctx.get(self.rules.slave)),
            *axi_rules.broken_rules(axi_rules.ASKER_RULES, ctx.get(self.lines.asker)),
            *axi_rules.broken_rules(axi_rules.ANSWERER_RULES, ctx.get(self.lines.answerer)),
        ]


class Slave:
    """A memory of lines behind the bus; ``memory`` maps a line's number to its bytes."""

    def __init__(self, axi: Any, data_bits: int, rng: random.Random, chances: Chances) -> None:
        self.axi, self.bytes, self.rng, self.chances = axi, data_bits // 8, rng, chances
        self.memory: dict[int, bytes] = {}
        self.announced: list[tuple[int, int]] = []  # id, line
        self.bursts: list[list[tuple[int, int, int]]] = [[]]  # data, strobes, last
        self.reads: list[list[int]] = []  # id, line, beats sent, response
        self.b_line = self.r_line = 0
        self.r_failed = False
        self.b: tuple[int, int] | None = None
        self.r: tuple[int, int, int, int] | None = None
        self.mixed_beats = 0
        #: Lines whose answer was handed over in this cycle, and whether it failed.
        self.finished: list[tuple[int, bool]] = []

    def drive(self, ctx: Any) -> None:
        """Offers for this cycle, and what it is ready for."""
        rng, chances, axi = self.rng, self.chances, self.axi
        ready = {channel: rng.random() < getattr(chances, channel) for channel in ("aw", "w", "ar")}
        if chances.both:
            # The valids are registers: they do not change in this cycle any more.
            ready["aw"] = ready["aw"] and bool(ctx.get(axi.wvalid))
            goes = ready["aw"] and bool(ctx.get(axi.awvalid))
            ready["w"] = ready["w"] and (goes or len(self.announced) >= len(self.bursts))
        for channel, value in ready.items():
            ctx.set(getattr(axi, f"{channel}ready"), value)
        if self.b is None and rng.random() < chances.b:
            self.b = self._complete()
        if self.r is None and self.reads and rng.random() < chances.r:
            self.r = self._beat()
        ctx.set(axi.bvalid, self.b is not None)
        if self.b is not None:
            drive(ctx, axi, bid=self.b[0], bresp=self.b[1])
        ctx.set(axi.rvalid, self.r is not None)
        if self.r is not None:
            for name, value in zip(("rid", "rdata", "rresp", "rlast"), self.r, strict=True):
                ctx.set(getattr(axi, name), value)

    def _complete(self) -> tuple[int, int] | None:
        """Carry out one of the writes that are wholly here; any of them, as no two are of one line."""
        whole = min(len(self.announced), len(self.bursts) - 1)
        if not whole:
            return None
        number = self.rng.randrange(whole)
        id_, line = self.announced.pop(number)
        self.b_line = line
        beats = self.bursts.pop(number)
        if self.rng.random() < self.chances.error:
            return id_, self.rng.choice([SLVERR, DECERR])
        bytes_ = bytearray(self.memory.get(line, bytes(LINE)))
        for place, (data, strobes, _) in enumerate(beats):
            for byte in range(self.bytes):
                if strobes >> byte & 1:
                    bytes_[place * self.bytes + byte] = data >> 8 * byte & 0xFF
        self.memory[line] = bytes(bytes_)
        return id_, OKAY

    def _beat(self) -> tuple[int, int, int, int]:
        """The next beat of one of the reads: with ``mixed`` of any, else of the oldest."""
        read = self.rng.choice(self.reads) if self.chances.mixed else self.reads[0]
        id_, line, sent, _ = read
        self.r_line = line
        if any(other[2] for other in self.reads if other is not read):
            self.mixed_beats += 1
        data = self.memory.get(line, bytes(LINE))[sent * self.bytes : (sent + 1) * self.bytes]
        resp = self.rng.choice([SLVERR, DECERR]) if self.rng.random() < self.chances.error / 4 else OKAY
        read[2] += 1
        read[3] |= resp
        self.r_failed = read[3] != OKAY
        last = read[2] * self.bytes == LINE
        if last:
            self.reads.remove(read)
        return id_, int.from_bytes(data, "little"), resp, int(last)

    def step(self, ctx: Any) -> None:
        """What was handed over in this cycle."""
        axi = self.axi
        self.finished = []
        if ctx.get(axi.awvalid) and ctx.get(axi.awready):
            self.announced.append((ctx.get(axi.awid), ctx.get(axi.awaddr) // LINE))
        if ctx.get(axi.wvalid) and ctx.get(axi.wready):
            beat = ctx.get(axi.wdata), ctx.get(axi.wstrb), ctx.get(axi.wlast)
            self.bursts[-1].append(beat)
            if beat[2]:
                self.bursts.append([])
        if ctx.get(axi.arvalid) and ctx.get(axi.arready):
            self.reads.append([ctx.get(axi.arid), ctx.get(axi.araddr) // LINE, 0, OKAY])
        if self.b is not None and ctx.get(axi.bready):
            self.finished.append((self.b_line, self.b[1] != OKAY))
            self.b = None
        if self.r is not None and ctx.get(axi.rready):
            if self.r[3]:
                self.finished.append((self.r_line, self.r_failed))
            self.r = None


@dataclass
class Asked:
    """A request that was taken, and the line's bytes that a read must bring."""

    line: int
    write: bool
    mask: int
    data: int


@dataclass
class Asker:
    """A random SM: accesses to few lines, one at a time a line, and the bytes that each must see."""

    port: Any
    rng: random.Random
    chances: Chances
    lines: list[int]
    tags: int
    expected: dict[int, bytes] = field(default_factory=dict)
    under_way: dict[int, Asked] = field(default_factory=dict)
    offered: tuple[int, Asked] | None = None
    answered: int = 0
    errors: int = 0
    #: Lines whose answer is at the bridge, with the answers that have gone first since.
    passed_by: dict[int, int] = field(default_factory=dict)
    #: Lines whose access has ended, and whether it has failed.
    failed: dict[int, bool] = field(default_factory=dict)

    def drive(self, ctx: Any, asking: bool) -> None:
        """A request to a line that no access is under way to; it stays until it is taken."""
        rng, request = self.rng, self.port.request
        if self.offered is None and asking and rng.random() < self.chances.ask:
            busy = {its.line for its in self.under_way.values()}
            lines = [line for line in self.lines if line not in busy]
            tags = [tag for tag in range(self.tags) if tag not in self.under_way]
            if lines and tags:
                masks = rng.getrandbits(LINE), 1 << rng.randrange(LINE), (1 << LINE) - 1, 0xF << 4 * rng.randrange(16)
                mask = rng.choice(masks)
                asked = Asked(rng.choice(lines), rng.random() < self.chances.write, mask, rng.getrandbits(8 * LINE))
                self.offered = rng.choice(tags), asked
        ctx.set(request.valid, self.offered is not None)
        if self.offered is not None:
            tag, asked = self.offered
            ctx.set(request.payload, {
                "line": asked.line, "tag": tag, "write": asked.write, "byte_mask": asked.mask, "data": asked.data,
            })
        ctx.set(self.port.response.ready, rng.random() < self.chances.take)

    def step(self, ctx: Any) -> list[str]:
        """What is wrong with what was handed over in this cycle."""
        request, response = self.port.request, self.port.response
        wrong = []
        if ctx.get(response.valid) and ctx.get(response.ready):
            payload = ctx.get(response.payload)
            if payload.tag not in self.under_way:
                wrong.append(f"an answer to tag {payload.tag}, which waits for none")
            else:
                wrong += self._check(payload)
        if self.offered is not None and ctx.get(request.ready):
            tag, asked = self.offered
            self.under_way[tag] = asked
            self.offered = None
        return wrong

    def _check(self, payload: Any) -> list[str]:
        asked = self.under_way.pop(payload.tag)
        self.passed_by.pop(asked.line, None)
        for line in self.passed_by:
            self.passed_by[line] += 1
        self.answered += 1
        self.errors += payload.error
        before = self.expected.get(asked.line, bytes(LINE))
        if asked.write and not payload.error:
            data = asked.data.to_bytes(LINE, "little")
            self.expected[asked.line] = bytes(
                data[byte] if asked.mask >> byte & 1 else before[byte] for byte in range(LINE))
        if asked.line not in self.failed:
            return [f"line {asked.line:#x} is answered before the bus has answered"]
        failed = self.failed.pop(asked.line)
        if payload.error != failed:
            return [f"line {asked.line:#x} should {'' if failed else 'not '}have failed"]
        if asked.write or failed:
            return []
        got = payload.data.to_bytes(LINE, "little")
        return [] if got == before else [f"line {asked.line:#x}: read {got.hex()}, not {before.hex()}"]


@dataclass
class Outcome:
    """What a run has shown."""

    wrong: list[str]
    answered: int
    errors: int
    mixed_beats: int
    left: int


def run(bridge: AxiMaster, seed: int, *, cycles: int = 400, chances: Chances | None = None, lines: int = 6) -> Outcome:
    """Random traffic for ``cycles`` cycles, and then until all is answered; ends at the first thing that is wrong."""
    chances = chances or Chances()
    rng = random.Random(seed)
    bench = Bench(bridge)
    # Two lines on either side of a border of 4 KiB, one of the console's, the others anywhere.
    border = rng.randrange(1, 1 << 20) * 64
    chosen = [border - 1, border, 1, *(rng.getrandbits(26) for _ in range(lines - 3))]
    slave = Slave(bridge.axi, bridge.data_bits, rng, chances)
    asker = Asker(bridge.port, rng, chances, chosen, 1 << bench.tag_bits)
    wrong: list[str] = []
    # Of its own kind all others may go first, and the other kind has every second turn.
    limit = 2 * max(bridge.reads, bridge.writes)

    async def testbench(ctx: Any) -> None:
        # Narrow buses have more beats to bring.
        for cycle in range(cycles + 2000 * max(1, 64 // bridge.data_bits)):
            asker.drive(ctx, cycle < cycles)
            slave.drive(ctx)
            wrong.extend(bench.broken(ctx))
            wrong.extend(asker.step(ctx))
            slave.step(ctx)
            asker.passed_by |= {line: 0 for line, _ in slave.finished}
            asker.failed |= dict(slave.finished)
            if max(asker.passed_by.values(), default=0) > limit:
                wrong.append(f"an answer has let more than {limit} others go first")
            if wrong:
                wrong[:] = [f"seed {seed}, cycle {cycle}: {text}" for text in wrong]
                return
            if cycle >= cycles and not asker.under_way and asker.offered is None:
                break
            await ctx.tick()
        else:
            wrong.append(f"seed {seed}: tags {sorted(asker.under_way)} were never answered")
        if ctx.get(bridge.busy) != bool(asker.under_way):
            await ctx.tick()
            if ctx.get(bridge.busy):
                wrong.append(f"seed {seed}: busy, but all is answered")

    simulate(bench, testbench)
    return Outcome(wrong, asker.answered, asker.errors, slave.mixed_beats, len(asker.under_way))


def make(**options: Any) -> AxiMaster:
    """The bridge of TINY."""
    return AxiMaster(TINY, **options)


__all__ = ["Asker", "Bench", "Chances", "Outcome", "Slave", "make", "run"]
