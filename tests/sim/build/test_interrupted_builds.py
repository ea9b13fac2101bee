"""A build that is interrupted, at whatever moment, leaves no process, no temporary folder and no half-made entry."""

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from metronome.hdl import verilog
from metronome.hdl.presets import TINY
from metronome.scripts.process.signals import Terminated, terminable
from metronome.sim.build import simulator as build_module
from metronome.sim.build.cache_pruning import KINDS, LEFTOVERS, prune
from metronome.sim.build.executables import is_whole
from metronome.sim.build.processes import undisturbed
from metronome.sim.build.simulator import build
from metronome.sim.build.verilating import call
from metronome.sim.build.verilog import Design
from tests.support.polling import wait_until
from tests.support.tiers import some_long
from tests.tb.stub_sm import stub_verilog

REAL_COMPILE = build_module._compile
#: The longest of the steps below takes so many seconds, and the build of all about half a second.
STEP = 0.1
#: A compiler of whom the step does not wait, as make's are; it must be killed.
COMPILE = f"sleep 300 & sleep {STEP}; kill $!; printf whole > metronome_top; mkdir obj"


def generate(config, sharing=None):
    process = subprocess.Popen(["yosys", "300"], executable=shutil.which("sleep"))
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STEP)
    process.kill()
    process.wait()
    return "module a;"


def compile_it(config, text, folder, waves, progress):
    for part in ("a", "b"):
        (folder / part).write_text("half made")
    call(["sh", "-c", COMPILE], folder, dict(os.environ))


@pytest.fixture
def mark(tmp_path, monkeypatch):
    """What every process that a build starts has in its environment."""
    text = f"MARK={uuid.uuid4()}"
    monkeypatch.setenv(*text.split("="))
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(verilog, "generate", generate)
    monkeypatch.setattr(build_module, "_compile", compile_it)
    # Once, for all processes that are forked: else most signals come while the sources are parsed.
    Design(TINY).digest()
    shutil.rmtree(tmp_path / "cache")
    yield text.encode()
    for pid in marked(text.encode()):
        os.kill(pid, signal.SIGKILL)


def marked(mark):
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark in path.read_bytes():
                found.append(int(path.parts[2]))
    return found


def start_build():
    """A process that builds, as the command line does; it has begun."""
    ready, begun = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            for number in (signal.SIGHUP, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            with terminable():
                os.write(begun, b"x")
                build(TINY)
                status = 0
        except (Terminated, KeyboardInterrupt):
            status = 130
        finally:
            os._exit(status)
    os.close(begun)
    assert os.read(ready, 1) == b"x"
    os.close(ready)
    return pid


def assert_only_whole_entries(cache):
    for path in cache.iterdir() if cache.exists() else ():
        assert any(re.fullmatch(pattern, path.name) for kind, pattern in KINDS.items() if kind != LEFTOVERS), path
        if path.name.startswith("sim-"):
            assert is_whole(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", some_long([signal.SIGTERM, signal.SIGINT, signal.SIGHUP], 1), ids=lambda number: number.name
)
def test_a_signal_at_any_moment_leaves_nothing(mark, tmp_path, number):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    cache = tmp_path / "cache"
    interrupted = 0
    for _ in range(8):
        shutil.rmtree(cache, ignore_errors=True)
        pid = start_build()
        time.sleep(rng.uniform(0, 5 * STEP))
        os.kill(pid, number)
        _, status = os.waitpid(pid, 0)
        # A build that has ended has no handler any more.
        assert os.waitstatus_to_exitcode(status) in (0, 130, -number), f"seed {seed}"
        interrupted += os.waitstatus_to_exitcode(status) == 130
        wait_until(lambda: not marked(mark), f"no process is left, seed {seed}")
        assert_only_whole_entries(cache)
    assert interrupted
    assert (build(TINY).executable).read_text() == "whole"


@pytest.mark.long
def test_a_signal_at_any_moment_of_a_real_build_leaves_nothing(mark, tmp_path, monkeypatch):
    """With Verilator, make and the compilers; the stub of the SM in place of the SM."""
    text = stub_verilog(TINY)
    monkeypatch.setattr(verilog, "generate", lambda config, sharing: text)
    monkeypatch.setattr(build_module, "_compile", REAL_COMPILE)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(8):
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        pid = start_build()
        time.sleep(rng.uniform(0, 20))
        os.kill(pid, signal.SIGTERM)
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) in (0, 130), f"seed {seed}"
        wait_until(lambda: not marked(mark), f"no process is left, seed {seed}")
        assert_only_whole_entries(tmp_path / "cache")


def test_what_a_killed_build_leaves_is_pruned_and_no_running_one(mark, tmp_path):
    cache = tmp_path / "cache"
    pid = start_build()
    wait_until(lambda: len(marked(mark)) == 3, "sh and what it has started run")
    (folder,) = cache.glob("tmp-*")
    assert prune(seconds=0, most=0)[1] == []
    assert (folder / "a").exists()
    assert [path.name for path in cache.glob("*.lock")] != []
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    removed, in_use = prune()
    assert folder in [entry.path for entry in removed]
    assert in_use == []
    assert_only_whole_entries(cache)


def test_a_signal_waits_for_the_end_of_what_belongs_together(interruptible):
    steps = []
    with pytest.raises(KeyboardInterrupt), undisturbed():
        signal.raise_signal(signal.SIGINT)
        steps.append("after the signal")
    assert steps == ["after the signal"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
