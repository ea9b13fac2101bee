"""Barriers between SMs, and runs of several golden models on one memory."""

from dataclasses import replace

import pytest

from metronome.hdl.gpu.config import GpuConfig
from metronome.hdl.presets import BASE, TINY
from metronome.sim.machine.golden import EndStatus
from metronome.sim.machine.golden.gpu import GpuIss
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program.assembler import asm
from metronome.sim.program.compiler.options import Compiling
from metronome.sim.program.kernels import KERNELS, load_into, prepare

START, DATA = TINY.memory_map.start, 0x2_0000
ID, COUNT, CORE, PLACE, VALUE = range(5, 10)


def machine(words, sms=2, config=TINY):
    memory = SparseMemory(config.memory_map)
    memory.write(START, b"".join(word.to_bytes(4, "little") for word in words))
    gpu = GpuConfig(sm=config, sms=sms)
    iss = GpuIss([gpu.sm_of(number) for number in range(sms)], memory)
    iss.launch(START, 0)
    return iss, memory


def meet(count, barrier=0):
    return [*asm.li(ID, 1 << 31 | barrier), *asm.li(COUNT, count), asm.bar(ID, COUNT)]


#: Each SM stores its number + 1 in its place, meets the others, and adds up all places.
def sums(sms, between):
    return [
        asm.csrr(CORE, 0xCC2), *asm.li(PLACE, DATA), asm.slli(VALUE, CORE, 2), asm.add(11, PLACE, VALUE),
        asm.addi(VALUE, CORE, 1), asm.sw(VALUE, 0, 11), *between, asm.addi(VALUE, 0, 0),
        *(word for k in range(sms) for word in (asm.lw(12, 4 * k, PLACE), asm.add(VALUE, VALUE, 12))),
        asm.sw(VALUE, 256, 11), asm.tmc(0),
    ]


@pytest.mark.parametrize("sms", [2, 4, 16])
def test_all_see_what_was_stored_before(sms):
    iss, memory = machine(sums(sms, meet(sms)), sms)
    assert iss.run(10_000).status is EndStatus.ENDED
    assert {memory.read_word(DATA + 256 + 4 * k) for k in range(sms)} == {sms * (sms + 1) // 2}


def test_without_a_barrier_they_do_not():
    iss, memory = machine(sums(2, []))
    assert iss.run(10_000).status is EndStatus.ENDED
    assert memory.read_word(DATA + 256) == 1


@pytest.mark.parametrize(("words", "who"), [
    (meet(4), "0 1"),  # more than there are
    ([asm.csrr(CORE, 0xCC2), asm.bne(CORE, 0, 4 * len(meet(2)) + 4), *meet(2)], "0"),  # one of them only
    ([asm.csrr(CORE, 0xCC2), *asm.li(ID, 1 << 31), asm.add(ID, ID, CORE), *asm.li(COUNT, 2), asm.bar(ID, COUNT)],
     "0 1"),  # at different barriers
    ([asm.csrr(CORE, 0xCC2), *asm.li(ID, 1 << 31), asm.addi(COUNT, CORE, 2), asm.bar(ID, COUNT)], "0 1"),
])
def test_deadlocks(words, who):
    iss, _ = machine([*words, asm.tmc(0)], config=BASE)
    assert iss.run(10_000).status is EndStatus.DEADLOCK
    waits = [text for sm in iss.sms for text in sm.waits().values()]
    assert len(waits) == len(who.split()) and all("between SMs: until all warps of" in text for text in waits)


def test_count_1_and_the_end_of_a_warp():
    assert machine([*meet(1), asm.tmc(0)])[0].run(100).status is EndStatus.ENDED
    # Warp 1 of each SM ends while warp 0 waits: then all active warps are there.
    p = asm.Program()
    p.la(10, "other")
    p.add(*asm.li(11, 2), asm.wspawn(11, 10), *meet(2), asm.tmc(0))
    p.label("other")
    p.add(asm.nop(), asm.nop(), asm.tmc(0))
    image = p.assemble()
    iss, _ = machine([int.from_bytes(image[at : at + 4], "little") for at in range(0, len(image), 4)])
    assert iss.run(100).status is EndStatus.ENDED


def test_one_sm_ignores_the_bit():
    memory = SparseMemory(TINY.memory_map)
    words = [*meet(2), asm.tmc(0)]
    memory.write(START, b"".join(word.to_bytes(4, "little") for word in words))
    iss = GpuIss([TINY], memory)
    iss.launch(START, 0)
    iss.sms[0].between_sms = None
    assert iss.run(100).status is EndStatus.DEADLOCK
    assert "until 2 warps have arrived" in iss.sms[0].waits()[0]


def test_a_fault_ends_the_run():
    end = machine([asm.csrr(CORE, 0xCC2), asm.beq(CORE, 0, 8), asm.ebreak(), *meet(2), asm.tmc(0)])[0].run(1000)
    assert end.status is EndStatus.FAULT and end.fault.pc == START + 8


@pytest.mark.parametrize("name", KERNELS)
def test_the_kernels_run_over_all_sms(name):
    for sms in (2, 8):
        gpu = GpuConfig(sm=replace(TINY, warps=4), sms=sms)
        launch = prepare(name, config=gpu.sm_of(0), compiling=Compiling(several_sms=True))
        memory = SparseMemory(gpu.sm.memory_map)
        load_into(launch, memory)
        iss = GpuIss([gpu.sm_of(number) for number in range(sms)], memory)
        iss.launch(launch.entry, launch.argument_address)
        assert iss.run(10_000_000).status is EndStatus.ENDED
        assert launch.check(memory) == []
