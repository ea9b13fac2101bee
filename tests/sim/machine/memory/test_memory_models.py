"""The memory models without a simulator: when requests complete, in which order, and what they see."""

import random
from fractions import Fraction

import pytest

from metronome.hdl.config import MemoryMap
from metronome.sim.machine.memory.adversarial import AdversarialMemory
from metronome.sim.machine.memory.dram.model import DramMemory
from metronome.sim.machine.memory.fixed import FixedMemory
from metronome.sim.machine.memory.model import Completion, Console, LatencyModel
from metronome.sim.machine.memory.names import MEMORY_MODELS, Entry
from metronome.sim.machine.memory.random import RandomMemory
from metronome.sim.machine.memory.registry import MemoryOptions, create_model
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.machine.memory.tdm import TdmMemory

LINE = 0x8000_0000 // 64
ALL = (1 << 64) - 1
ZEROS = bytes(64)


def text_line(text: bytes, offset: int = 0) -> bytes:
    return bytes(offset) + text + bytes(64 - offset - len(text))


@pytest.mark.parametrize("latency", [1, 20, 100])
def test_fixed_latency(latency):
    model = FixedMemory(SparseMemory(), latency=latency)
    model.request(7, 3, LINE, False, 0, ZEROS)
    assert model.lookahead == latency
    assert model.next_due == 7 + latency
    assert model.complete(7 + latency - 1) == []
    assert model.complete(7 + latency) == [Completion(7 + latency, 3, False, ZEROS)]
    assert model.next_due is None


def test_equal_due_cycles_complete_in_tag_order():
    model = FixedMemory(SparseMemory(), latency=5)
    for tag in (9, 2, 4):
        model.request(0, tag, LINE, False, 0, ZEROS)
    assert [completion.tag for completion in model.complete(5)] == [2, 4, 9]


def test_write_is_visible_when_due_and_not_before():
    memory = SparseMemory()
    model = FixedMemory(memory, latency=10)
    model.request(0, 0, LINE, True, 0b1010, bytes(range(64)))
    model.complete(9)
    assert memory.read_line(LINE * 64) == ZEROS
    model.complete(10)
    assert memory.read_line(LINE * 64) == bytes([0, 1, 0, 3]) + bytes(60)


def test_read_takes_its_data_when_due():
    """A read that was accepted before a write sees it if the write is due first."""

    class Given(FixedMemory):
        def due(self, cycle, line, write):
            return 5 if write else 8

    model = Given(SparseMemory(), latency=1)
    model.request(0, 1, LINE, False, 0, ZEROS)
    model.request(1, 2, LINE, True, ALL, b"\x55" * 64)
    model.request(2, 3, LINE + 1, False, 0, ZEROS)
    done = model.complete(100)
    assert [(completion.due, completion.tag) for completion in done] == [(5, 2), (8, 1), (8, 3)]
    assert done[1].data == b"\x55" * 64
    assert done[0].data == done[2].data == ZEROS


@pytest.mark.parametrize("line", [0, 0xFFFF_0000 // 64, (1 << 26) - 1])
@pytest.mark.parametrize("write", [False, True])
def test_access_outside_memory_is_an_error(line, write):
    memory = SparseMemory()
    model = FixedMemory(memory, latency=1)
    model.request(0, 0, line, write, ALL, b"\xff" * 64)
    assert model.complete(1) == [Completion(1, 0, True, ZEROS)]
    assert memory.pages() == []


@pytest.mark.parametrize("seed", range(5))
def test_random_latency_reorders_within_its_bounds(seed):
    rng = random.Random(seed)
    latency = rng.choice([7, 40])
    model = RandomMemory(SparseMemory(), latency=latency, seed=seed)
    accepted, cycle = {}, 0
    for tag in range(400):
        cycle = max(cycle + 1, model.ready_from)
        model.request(cycle, tag, LINE + tag, False, 0, ZEROS)
        accepted[tag] = cycle
    done = model.complete(cycle + latency)
    due = {completion.tag: completion.due for completion in done}
    waits = [due[tag] - accepted[tag] for tag in accepted]
    assert len(done) == 400, f"seed {seed}"
    assert (min(waits), max(waits)) == (1, latency), f"seed {seed}"
    assert [completion.due for completion in done] == sorted(due.values()), f"seed {seed}"
    assert [completion.tag for completion in done] != sorted(accepted), f"seed {seed}"


def test_random_pauses():
    model = RandomMemory(SparseMemory(), latency=4, seed=1)
    pauses = []
    for cycle in range(0, 40_000, 100):
        model.request(cycle, 0, LINE, False, 0, ZEROS)
        pauses.append(max(0, model.ready_from - cycle - 1))
    assert 0.15 < sum(pause > 0 for pause in pauses) / len(pauses) < 0.35
    assert set(range(1, 13)) == set(pauses) - {0}


def test_random_is_the_same_for_the_same_seed():
    def answers(seed):
        model = RandomMemory(SparseMemory(), latency=30, seed=seed)
        for tag in range(50):
            model.request(tag, tag, LINE, False, 0, ZEROS)
        return [(completion.due, completion.tag) for completion in model.complete(1000)]

    assert answers(3) == answers(3)
    assert answers(3) != answers(4)


def test_console_lines_of_side_by_side_slots():
    printed = []
    memory = SparseMemory()
    console = Console(MemoryMap(), printed.append)
    model = FixedMemory(memory, console, latency=1)
    for cycle, text in enumerate((b"ab", b"\nc", b"d\n")):
        model.request(cycle, 0, 1, True, 0b11, text_line(text))
    model.complete(2)
    assert printed == ["a\n"]
    model.complete(3)
    assert printed == ["a\n", "bc\n"]
    console.flush()
    assert printed == ["a\n", "bc\n", "d\n"]
    assert memory.read(0x40, 2) == b"d\n"


def test_a_console_byte_that_is_not_utf_8_is_not_lost():
    printed = []
    console = Console(MemoryMap(), printed.append)
    written = b"\xff\x80 \xc3\xa9\xc3\n"
    for byte in written:
        console.store(1, bytes([byte]))
    assert [text.encode("utf-8", "surrogateescape") for text in printed] == [written]


def test_console_ends_where_the_counters_begin():
    printed = []
    console = Console(MemoryMap(), printed.append)
    model = FixedMemory(SparseMemory(), console, latency=1)
    model.request(0, 0, 1, True, 1 << 63, text_line(b"\n", 63))
    model.request(0, 1, 2, True, ALL, b"\n" * 64)
    model.request(0, 2, 1, False, ALL, b"\n" * 64)
    model.complete(1)
    assert printed == ["\n"]


@pytest.mark.parametrize(("writes_first", "told"), [(False, True), (True, False)])
@pytest.mark.parametrize("name", ["fixed", "random", "dram", "tdm"])
def test_a_watched_line_that_is_read_before_it_is_written(name, writes_first, told):
    model = create_model(name, SparseMemory(), None, latency=3, seed=1)
    model.unwritten = LINE + 1
    now = 0
    for line, write in ((LINE, False), (LINE + 2, False), (LINE + 1, writes_first), (LINE + 1, False)):
        now = max(now, model.ready_from)
        model.request(now, 0, line, write, ALL, ZEROS)
        now += 1000
        model.complete(now)
        assert model.read_unwritten == (told and line == LINE + 1)


class Hasty(LatencyModel):
    """What a recipe's reader may forget: ``cycle +``."""

    def due(self, cycle, line, write):
        return 20


def test_a_model_that_answers_too_early_is_told():
    model = Hasty(SparseMemory())
    model.request(3, 0, 0x1000, False, 0, b"")
    with pytest.raises(ValueError, match=r"Hasty\.due says cycle 20 to a request of cycle 20: it must be at least 21"):
        model.request(20, 1, 0x1000, False, 0, b"")


@pytest.mark.parametrize("name", MEMORY_MODELS)
def test_every_name_has_a_model(name):
    create_model(name, SparseMemory(), None, latency=3, seed=1)


def test_a_keyword_without_a_value_is_told(monkeypatch):
    monkeypatch.setitem(MEMORY_MODELS, "fixed", Entry("fixed", "FixedMemory", "latency"))
    with pytest.raises(ValueError, match=r"names\.py: no value is called 'l': the keywords of fixed must be among"):
        create_model("fixed", SparseMemory(), None, latency=3, seed=1)


def test_create_model_by_name():
    assert isinstance(create_model("fixed", SparseMemory(), None, latency=3, seed=1), FixedMemory)
    assert isinstance(create_model("random", SparseMemory(), None, latency=3, seed=1), RandomMemory)
    assert type(create_model("random", SparseMemory(), None, latency=3, seed=1)) is RandomMemory
    assert isinstance(create_model("dram", SparseMemory(), None, latency=3, seed=1), DramMemory)
    assert isinstance(create_model("tdm", SparseMemory(), None, latency=3, seed=1), TdmMemory)
    adversarial = create_model(
        "random", SparseMemory(), None, latency=3, seed=1, options=MemoryOptions(adversarial=True)
    )
    assert isinstance(adversarial, AdversarialMemory)
    with pytest.raises(ValueError, match=f"memory must be one of {', '.join(MEMORY_MODELS)}, not 'core'"):
        create_model("core", SparseMemory(), None, latency=3, seed=1)


@pytest.mark.parametrize(("values", "text"), [
    ({"timing": "DDR5"}, "timing must be one of DDR4_2400R, DDR4_2400R_JEDEC, DDR4_3200AA, not 'DDR5'"),
    ({"clock": Fraction(0)}, "clock must be between 1/64 and 64, not 0"),
    ({"queue_depth": 0}, "queue_depth must be at least 1, not 0"),
    ({"mapping": "row bank"}, "the address mapping must name each of group, bank, column, row once, not 'row bank'"),
    ({"error_probability": 1.5, "adversarial": True}, "error_probability must be between 0 and 1, not 1.5"),
    ({"error_probability": 0.5}, "error_probability needs adversarial"),
])
def test_bad_options(values, text):
    with pytest.raises(ValueError, match=text):
        MemoryOptions(**values)


@pytest.mark.parametrize("name", ["fixed", "random"])
def test_latency_below_one(name):
    with pytest.raises(ValueError, match="latency must be at least 1, not 0"):
        create_model(name, SparseMemory(), None, latency=0, seed=1)
