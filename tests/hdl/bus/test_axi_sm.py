"""The whole SM behind AXI, with cocotbext-axi as memory and host: kernels, faults, resets, what the registers say."""

import functools
import re
from dataclasses import replace

import pytest

from metronome.hdl.bus.register_table import register_table
from metronome.hdl.config import FaultCause
from metronome.hdl.verilog import generate_flat
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program.assembler import asm
from metronome.sim.program.kernels import load_into, prepare
from metronome.sim.run.types import pack_memory, unpack_memory
from tests.hdl.bus.axi_sm_process import build, run_jobs, text_of
from tests.hdl.bus.axi_sm_tb import AxiJob
from tests.support.builds import TINY, on

CONFIG = replace(TINY, probe=False, assertions=False, oracles=False)
KERNELS = [("vecadd", None), ("psum", 3), ("diverge", 4)]
START, BAD = CONFIG.memory_map.start, 0x0030_0000
pytestmark = on("axi")


def program(*steps):
    """One warp, one lane: ``steps``, then the end."""
    p = asm.Program(START)
    for step in steps:
        if isinstance(step, tuple):
            p.li(*step)
        else:
            p.add(step)
    p.add(asm.fence(), asm.tmc(0))
    return p


def job(p, **options):
    memory = SparseMemory(CONFIG.memory_map)
    memory.write(START, p.assemble())
    return AxiJob(pages=pack_memory(memory), arg=0, **{"start_pc": START, "fails": (BAD, BAD + 64)} | options)


def endless():
    """Loads and stores for ever, so that a reset finds some under way."""
    p = asm.Program(START)
    p.li(1, 0x0002_0000)
    p.label("again")
    p.add(*(asm.sw(1, 64 * line, 1) for line in range(8)), *(asm.lw(2 + line, 512 + 64 * line, 1) for line in range(8)))
    p.add(asm.addi(1, 1, 1024))
    p.jal(0, "again")
    return p


@functools.cache
def launches():
    return [prepare(name, size=11, config=CONFIG) for name, _ in KERNELS]


SMALL = {
    "exit code": job(program((1, 0x1234_5678), asm.sw(1, 0x88, 0))),
    "load": job(program((1, BAD), asm.lw(2, 4, 1)), seed=5), "store": job(program((1, BAD), asm.sw(2, 8, 1)), seed=6),
    "fetch": job(program(), start_pc=BAD), "reset": job(endless(), seed=7, reset_after=700),
}


def kernel_job(launch, seed):
    memory = SparseMemory(CONFIG.memory_map)
    load_into(launch, memory)
    return AxiJob(pages=pack_memory(memory), start_pc=launch.entry, arg=launch.argument_address, seed=seed)


@pytest.fixture(scope="module")
def results():
    """All of them one after the other on one SM, which only its host's starts reset."""
    jobs = [kernel_job(launch, seed) for launch, (_, seed) in zip(launches(), KERNELS, strict=True)]
    jobs += [*SMALL.values(), kernel_job(launches()[0], 8)]
    names = [*(name for name, _ in KERNELS), *SMALL, "vecadd again"]
    done = run_jobs(CONFIG, build(text_of(CONFIG)), jobs)
    return dict(zip(names, done, strict=True))


@pytest.mark.parametrize("name", ["vecadd", "psum", "diverge", "vecadd again"])
def test_kernel(results, name):
    result = results[name]
    launch = next(its for its in launches() if its.name == name.split()[0])
    assert result.ended
    assert launch.check(unpack_memory(CONFIG, result.pages)) == []
    registers = result.registers
    assert registers["status"] == 8
    assert registers["exit_code"] == 0
    assert registers["fault_cause"] == 0
    stalls = sum(value for its, value in registers.items() if its.startswith("stalls_") and its.endswith("_low"))
    assert 0 < registers["committed_low"]
    assert registers["cycles_low"] == registers["committed_low"] + registers["nops_low"] + stalls
    assert registers["total_cycles_low"] >= registers["cycles_low"]


def test_every_rule_is_kept(results):
    assert {name: result.broken for name, result in results.items()} == dict.fromkeys(results, (0, 0))


def test_exit_code(results):
    assert results["exit code"].ended
    assert results["exit code"].registers["exit_code"] == 0x1234_5678
    assert results["load"].before["exit_code"] == 0x1234_5678
    assert results["load"].registers["exit_code"] == 0


@pytest.mark.parametrize(("name", "cause", "address"), [
    ("load", FaultCause.LOAD_ACCESS, BAD + 4), ("store", FaultCause.STORE_ACCESS, BAD + 8),
    ("fetch", FaultCause.FETCH_ACCESS, BAD),
])
def test_an_error_on_the_bus_is_a_fault(results, name, cause, address):
    result = results[name]
    assert result.ended
    assert result.registers["status"] == 8 | 2
    assert result.registers["fault_cause"] == cause
    assert result.registers["fault_address"] == address
    assert result.registers["interrupt"] == 1


def test_a_reset_ends_no_run(results):
    result = results["reset"]
    assert not result.ended
    assert result.registers["status"] == 0
    assert result.registers["interrupt"] == 0
    assert result.registers["total_cycles_low"] == 0


def test_the_interrupt_is_cleared_and_what_is_no_register_fails(results):
    assert all(result.cleared for result in results.values())
    assert all(result.unknown == [2, 2] for result in results.values())


def test_the_ports_are_flat():
    """Every wire is a port of its own with the usual name, and the clock and the reset are the only other inputs."""
    least = replace(CONFIG, warps=1, threads=1, dcache_bytes=0, icache_bytes=0)
    text = generate_flat(least, "axi", data_bits=128, reads=2, writes=2).text
    header = text[text.index("module metronome_sm(") :].split(";", 1)[0]
    names = {name.strip() for name in header.partition("(")[2].rstrip(")").split(",")}
    assert {"clk", "rst", "irq", "m_axi_awid", "m_axi_wlast", "m_axi_rresp", "s_axil_araddr", "s_axil_bresp"} <= names
    assert all(name.startswith(("m_axi_", "s_axil_")) for name in names - {"clk", "rst", "irq"})
    assert len(names) == 3 + 37 + 19
    assert re.search(r"^ +output \[127:0\] m_axi_wdata;$", text, re.MULTILINE)
    assert register_table(CONFIG)[0].name == "identity"
