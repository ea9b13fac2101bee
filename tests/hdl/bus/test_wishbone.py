"""The Wishbone master under random traffic, beside a slave that answers when it likes and fails some words."""

import random

import pytest
from amaranth.hdl import Module

from metronome.hdl.bus.wishbone import WishboneMaster
from metronome.hdl.presets import TINY
from metronome.tb.axi_rules import ANSWERER_RULES, ASKER_RULES, LineRules, broken_rules
from metronome.tb.formal.patched import patched
from tests.hdl.bus.axi_side import LINE, Asker, Chances
from tests.hdl.lib.simulate import drive, simulate

SEED = 11
MASTER = "metronome.hdl.bus.wishbone:WishboneMaster.elaborate"
BUGS = {
    "a write is answered with the first word": (
        "response.valid.eq(last)", "response.valid.eq(last | bus.we)", "changed|before"),
    "words come in the wrong order": (
        "Cat(line[self.data_bits :], bus.dat_r)", "Cat(bus.dat_r, line[: -self.data_bits])", "read"),
    "every word has the first one's bytes": ("mask.eq(mask >> (self.data_bits // 8))", "mask.eq(mask)", "read"),
    "an error of an earlier word is lost": ("response.payload.error | bus.err", "bus.err", "should have failed"),
    "the end of a burst is one early": ("Mux(last, _END", "Mux(word == words - 2, _END", "cti"),
    "the address does not move": ("Cat(word, where)", "Cat(word & 1, where)", "address"),
    "a word that is not acknowledged counts": ("(bus.ack | bus.err)", "1", "before|address|read|without"),
    "an answer goes away": ("with m.If(response.ready):", "with m.If(1):", "never|changed"),
}


class Slave:
    """A memory behind the bus; what is asked for must be the words of one line, in order, and stay until answered."""

    def __init__(self, bus, data_bits, rng, error):
        self.bus, self.bytes, self.rng, self.error = bus, data_bits // 8, rng, error
        self.memory = {}
        self.before = None
        self.answered = False
        self.word = 0
        self.failed = False
        self.finished = []

    def drive(self, ctx):
        bus, rng = self.bus, self.rng
        # A slave may see the request in this cycle: the master's outputs are registers.
        asked = ctx.get(bus.cyc) and ctx.get(bus.stb)
        self.answered = bool(asked and rng.random() < 0.6)
        failing = rng.random() < self.error
        self.fails = self.answered and failing
        drive(ctx, bus, ack=self.answered and not failing, err=self.fails)
        line, word = divmod(ctx.get(bus.adr), LINE // self.bytes)
        data = self.memory.get(line, bytes(LINE))[word * self.bytes : (word + 1) * self.bytes]
        ctx.set(bus.dat_r, int.from_bytes(data, "little") if self.answered else rng.getrandbits(8 * self.bytes))

    def step(self, ctx):
        """What is wrong in this cycle."""
        bus, self.finished = self.bus, []
        if not ctx.get(bus.cyc):
            return [] if self.before is None else ["the bus is given up without an answer"]
        now = tuple(ctx.get(getattr(bus, name)) for name in ("we", "adr", "sel", "cti", "dat_w"))
        we, adr, sel, cti, data = now
        wrong = [] if self.before in (None, now) else [f"{self.before} changed to {now} before it was answered"]
        words = LINE // self.bytes
        line, word = divmod(adr, words)
        if word != self.word:
            wrong.append(f"the address is of word {word}, not {self.word}")
        if (cti == 7) != (self.word == words - 1) or cti not in (2, 7):
            wrong.append(f"cti is {cti} at word {self.word}")
        self.before = None if self.answered else now
        if self.answered:
            self._store(we, line, word, sel, data)
            self.failed = (self.failed and self.word > 0) or self.fails
            self.word = (self.word + 1) % words
            if self.word == 0:
                self.finished = [(line, self.failed)]
        return wrong

    def _store(self, we, line, word, sel, data):
        if we and not self.fails:
            content = bytearray(self.memory.get(line, bytes(LINE)))
            for byte in range(self.bytes):
                if sel >> byte & 1:
                    content[word * self.bytes + byte] = data >> 8 * byte & 0xFF
            self.memory[line] = bytes(content)


def run(data_bits, seed, *, error=0.0, cycles=400, take=0.7):
    """What is wrong, and how many requests were answered."""
    rng = random.Random(seed)
    bridge = WishboneMaster(TINY, data_bits=data_bits, tag_bits=4)
    m = Module()
    m.submodules.bridge = bridge
    m.submodules.rules = rules = LineRules(TINY, tag_bits=4)
    rules.watch(m, bridge.port)
    slave = Slave(bridge.bus, data_bits, rng, error)
    asker = Asker(bridge.port, rng, Chances(take=take), [0, 63, 64, (1 << 26) - 1], 16)
    wrong = []

    async def testbench(ctx):
        for cycle in range(cycles + 300):
            asker.drive(ctx, cycle < cycles)
            slave.drive(ctx)
            wrong.extend(broken_rules(ASKER_RULES, ctx.get(rules.asker)))
            wrong.extend(broken_rules(ANSWERER_RULES, ctx.get(rules.answerer)))
            if ctx.get(bridge.busy) != bool(asker.under_way):
                wrong.append("busy is not whether something is under way")
            wrong.extend(asker.step(ctx))
            wrong.extend(slave.step(ctx))
            asker.failed |= dict(slave.finished)
            asker.expected |= {line: slave.memory.get(line, bytes(LINE)) for line, failed in slave.finished if failed}
            if wrong:
                return
            await ctx.tick()
        if asker.under_way:
            wrong.append(f"tags {sorted(asker.under_way)} were never answered")

    simulate(m, testbench)
    return wrong, asker.answered


@pytest.mark.parametrize("data_bits", [32, 64])
def test_random_traffic(data_bits):
    wrong, answered = run(data_bits, SEED)
    assert not wrong
    assert answered > 5


def test_failing_words():
    """A write of which a word fails has changed the others: what is in memory then is what reads must bring."""
    wrong, answered = run(64, SEED, error=0.1, take=1)
    assert not wrong
    assert answered > 3


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_bug_is_found(name):
    old, new, text = BUGS[name]
    with patched(name, MASTER, old, new):
        found = run(32, SEED, error=0.05 if "error" in name else 0, take=0.3)[0]
    assert any(part in one for one in found for part in text.split("|")), found


@pytest.mark.long
@pytest.mark.parametrize("number", range(40))
def test_more_random_traffic(number):
    wrong, _ = run((32, 64)[number % 2], SEED + number, cycles=3000, take=(0.1, 0.7, 1)[number % 3])
    assert not wrong


@pytest.mark.parametrize("width", [16, 128])
def test_other_widths_are_refused(width):
    with pytest.raises(ValueError, match=f"^data_bits must be 32 or 64, not {width}$"):
        WishboneMaster(TINY, data_bits=width)
