"""The SM with its buses in Verilator, beside cocotbext-axi: builds it, and runs a list of programs."""

import pickle
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from amaranth.back import verilog
from amaranth.hdl import ClockDomain, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from metronome.hdl.bus.axi_sm import AxiSm
from metronome.hdl.bus.signatures import axi4_wires
from metronome.hdl.config import SmConfig
from metronome.hdl.lib.collector import collector_paused
from metronome.hdl.lib.shared import SharedModules
from metronome.sim.build.cache import entry
from metronome.sim.build.verilating import call, digest, make, verilator, versions
from metronome.sim.run.process import environment
from metronome.tb.axi_rules import MASTER_RULES, SLAVE_RULES, AxiRules
from tests.hdl.bus.axi_sm_tb import AxiJob, AxiResult

TOP = "checked_axi"
FLAGS = (
    "--cc", "--exe", "--vpi", "--public-depth", "1", "--timing", "-O3", "--x-assign", "fast", "--x-initial", "0",
    "-CFLAGS", "-fcoroutines -std=c++20", "--prefix", "Vtop", "--top-module", TOP, "-Wno-fatal", "-Wno-lint",
    "-Wno-style", "--output-split", "20000",
)


class Checked(wiring.Component):
    """The top level with the rules of AXI; ``broken_*`` are sticky."""

    def __init__(self, top: AxiSm, data_bits: int, id_bits: int) -> None:
        self._top, self._data_bits, self._id_bits = top, data_bits, id_bits
        super().__init__({
            **dict(top.signature.members),
            "broken_master": Out(len(MASTER_RULES)),
            "broken_slave": Out(len(SLAVE_RULES)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        domain = ClockDomain("sync", local=True)
        domain.clk, domain.rst = self.clk, self.rst
        m.domains += domain
        m.submodules.top = top = self._top
        m.submodules.rules = rules = AxiRules(data_bits=self._data_bits, id_bits=self._id_bits)
        for name, member in top.signature.members.items():
            outer, inner = getattr(self, name), getattr(top, name)
            m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        for wire in axi4_wires(data_bits=self._data_bits, id_bits=self._id_bits):
            m.d.comb += getattr(rules, wire.name).eq(getattr(top, f"m_axi_{wire.name}"))
        m.d.sync += [
            self.broken_master.eq(self.broken_master | rules.master),
            self.broken_slave.eq(self.broken_slave | rules.slave),
        ]
        return m


def text_of(config: SmConfig, *, data_bits: int = 64, slots: int = 16) -> str:
    """The Verilog."""
    shared = SharedModules(prefix="metronome")
    top = AxiSm(config, data_bits=data_bits, reads=slots, writes=slots)
    with collector_paused():
        checked = Checked(top, data_bits, len(top.m_axi_awid))
        return verilog.convert(checked, name=TOP, platform=shared, emit_src=False) + shared.text


def build(text: str) -> Path:
    """The executable of a module :data:`TOP`, from the cache or made now."""
    import cocotb_tools.config as cocotb_config

    main = Path(cocotb_config.share_dir) / "lib" / "verilator" / "verilator.cpp"

    def make_entry(folder: Path) -> None:
        (folder / "top.v").write_text(text)
        script, env = verilator()
        call([
            str(script), *FLAGS, "-Mdir", "obj", "-o", "../simulation",
            "-LDFLAGS", f"-L{cocotb_config.libs_dir} -lcocotbvpi_verilator -Wl,--export-dynamic", str(main), "top.v",
        ], folder, env)
        make(folder, "Vtop", [main])

    return entry(f"axi-{digest(text, FLAGS, versions())}", make_entry) / "simulation"


def run_jobs(config: SmConfig, executable: Path, jobs: Sequence[AxiJob]) -> list[AxiResult]:
    """Run the programs one after the other in one process, without a reset but the host's own."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder)
        (files / "jobs").write_bytes(pickle.dumps((config, list(jobs))))
        environ = environment("tests.hdl.bus.axi_sm_tb", str(files / "results.xml")) | {
            "COCOTB_TOPLEVEL": TOP, "METRONOME_JOBS": str(files / "jobs"), "METRONOME_RESULTS": str(files / "results"),
        }
        done = subprocess.run([executable], cwd=folder, env=environ, capture_output=True, text=True, timeout=900)
        if not (files / "results").exists():
            raise RuntimeError(f"the simulation died:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        results = pickle.loads((files / "results").read_bytes())
    if isinstance(results, str):
        raise RuntimeError(f"the testbench failed:\n{results}")
    return results
