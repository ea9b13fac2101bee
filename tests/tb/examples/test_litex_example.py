"""tb/examples/litex: the SM on the bus of a LiteX SoC runs vecadd from the SoC's RAMs, by the exported module."""

import importlib.util
import json
import sys

import pytest

from metronome.sim.program.image import read_words
from tests.support.builds import on
from tests.tb.examples.example_runs import EXAMPLES, call, check_memory, counters_of, launched, own_run, write_export

pytestmark = [
    on("TINY"), pytest.mark.more,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("litex", "migen")),
        reason="needs litex and migen: pip install -e '.[export]'",
    ),
]
FOLDER = EXAMPLES / "litex"


@pytest.mark.parametrize("bus", ["axi", "wishbone"])
def test_the_soc_runs_vecadd(bus, tmp_path):
    launch, image = launched("vecadd", 8, tmp_path)
    own = counters_of(own_run(launch, 5))
    export = write_export(tmp_path / "export", bus)
    call(sys.executable, FOLDER / "soc.py", export, image, "--output", "soc", cwd=tmp_path)
    call(
        "verilator", "--cc", "--exe", "--build", "-O3", "--x-initial", "0", "-Wno-fatal", "-Wno-lint", "-Wno-style",
        "--top-module", "soc", "-o", "sim", "-CFLAGS", "-std=c++20", "-MAKEFLAGS",
        "OPT_FAST=-O0 CFG_CXXFLAGS_PCH_I=-include PYTHON3=python3", FOLDER / "main.cpp", "soc.v",
        export / "metronome_sm.v",
        cwd=tmp_path / "soc",
    )
    output = call(tmp_path / "soc" / "obj_dir" / "sim", cwd=tmp_path / "soc")
    words = {int(address, 16): int(value, 16) for address, value in (line.split() for line in output.splitlines())}
    registers = json.loads((export / "metronome_sm.json").read_text())["registers"]
    results = {row["name"]: words.pop(0x9000_0000 + row["offset"], None) for row in registers}
    assert (results["status"], results["exit_code"], results["committed_low"]) == (8, 0, own["committed"])
    assert results["total_cycles_low"] > own["total_cycles"]
    assert len(words) == 3 * 8
    check_memory(launch, [*read_words(image.read_text()), *words.items()])
