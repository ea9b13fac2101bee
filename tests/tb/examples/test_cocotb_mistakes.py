"""tb/examples/cocotb/run.py refuses bad input in one line, before it builds."""

import json
import subprocess
import sys

import pytest

from tests.tb.examples import example_runs as examples


@pytest.mark.parametrize(("arguments", "words"), [
    (["none", "a.hex"], "none is not a folder that metronome verilog wrote"),
    (["export", "none.hex"], "there is no image none.hex"),
    (["export", "a.hex", "--policy", "2"], "--policy must be from 0 to 1 for this export, not 2"),
    (["export", "a.hex", "--policy", "-1"], "--policy must be from 0 to 1"),
    (["export", "a.hex", "--test", "empty.py"], "--test takes the name of a module, without .py: --test empty"),
    (["export", "a.hex", "--test", "unknown"], "there is no module 'unknown'"),
    (["export", "a.hex", "--test", "empty"], "empty.py has no cocotb test"),
    (["wishbone", "a.hex"], "there is no test for --bus wishbone: name your own with --test, or run metronome_sm_tb.v"),
])
def test_a_mistake_is_one_line(tmp_path, arguments, words):
    (tmp_path / "export").mkdir()
    config = {"policies": {"value": ["lrr", "gtlo"]}, "fetch_policies": {"value": []}}
    about = {"bus": "line", "ports": [{"name": "policy", "width": 1}], "config": config}
    (tmp_path / "export" / "metronome_sm.json").write_text(json.dumps(about))
    (tmp_path / "wishbone").mkdir()
    (tmp_path / "wishbone" / "metronome_sm.json").write_text(json.dumps({**about, "bus": "wishbone"}))
    (tmp_path / "a.hex").write_text("")
    (tmp_path / "empty.py").write_text("x = 1\n")
    done = subprocess.run(
        [sys.executable, examples.COCOTB, *arguments], cwd=tmp_path, env=examples.environment(), capture_output=True,
        text=True, check=False,
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert words in done.stderr.splitlines()[-1]
