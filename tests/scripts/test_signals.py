"""A command that is told to end, or killed, leaves neither a simulation nor a temporary folder behind."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from metronome.hdl.presets import TINY
from metronome.scripts.cli import main
from metronome.scripts.process.signals import terminable
from metronome.sim.build.simulator import build
from metronome.sim.build.sources import ROOT
from metronome.sim.program.assembler import asm
from tests.support.polling import wait_until

#: One worker runs them all, so that the machine is built once.
pytestmark = pytest.mark.build("TINY")


def simulations(pid):
    """The simulations that the process has started, by pid; it starts other programs too, which soon end."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if b"metronome_top" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(int(child))
    return found


def is_running(pid):
    """Whether the process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def default_signals():
    """Under nohup or in a script's background the tests inherit signals that are ignored."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def endless(tmp_path):
    """`metronome run` of a program that never ends: (the process, the pid of its simulation, its temporary folder)."""
    build(TINY)
    program = tmp_path / "loop.bin"
    # Not a jump to itself alone, which is a deadlock.
    program.write_bytes(asm.addi(5, 5, 1).to_bytes(4, "little") + asm.jal(0, -4).to_bytes(4, "little"))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "metronome.scripts.cli", "run", "--bin", str(program), "--preset", "TINY",
         "--max-cycles", str(2**62)],
        cwd=ROOT, env={**os.environ, "TMPDIR": str(temporary)}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=default_signals,
    )
    simulation = None
    try:
        # Not asked again: a process that becomes another program (setpriv does) has no command line for a moment.
        found = wait_until(lambda: simulations(process.pid) or process.poll() is not None, "the simulation starts")
        assert process.poll() is None, process.communicate()
        (simulation,) = found
        yield process, simulation, temporary
    finally:
        process.kill()
        process.communicate()
        if simulation is not None and is_running(simulation):
            os.kill(simulation, signal.SIGKILL)


@pytest.mark.parametrize(
    ("number", "status", "line"),
    [
        (signal.SIGTERM, 143, "metronome: terminated\n"), (signal.SIGINT, 130, "metronome: interrupted\n"),
        pytest.param(signal.SIGHUP, 143, "metronome: terminated\n", marks=pytest.mark.more),
    ],
)
def test_a_signal_ends_the_simulation_and_leaves_nothing(endless, number, status, line):
    process, simulation, temporary = endless
    assert list(temporary.iterdir()) != []
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.lstrip("\n")) == (status, "", line)
    # Not at once where the signal came before Popen had returned: then the simulation ends by that of its parent.
    wait_until(lambda: not is_running(simulation), "the simulation ends")
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_a_killed_command_takes_its_simulation_with_it(endless):
    process, simulation, _ = endless
    process.kill()
    process.wait()
    wait_until(lambda: not is_running(simulation), "the simulation ends")


#: Sends itself SIGINT at the given one of the imports; says at the end how many there were.
INTERRUPTED_IMPORT = """
import os, signal, sys
from metronome.scripts.entry import main
left = int(sys.argv.pop(1))
count = 0
def hook(event, arguments):
    global count
    if event == "import":
        count += 1
        if count == left:
            os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(hook)
status = main()
print("imports", count)
sys.exit(status)
"""


def interrupted_import(number):
    return subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, str(number), "kernels"], cwd=ROOT, text=True, capture_output=True,
        stdin=subprocess.DEVNULL, preexec_fn=default_signals, check=False,
    )


@pytest.mark.slow
def test_an_interrupt_at_any_import_is_one_line():
    whole = interrupted_import(0)
    assert whole.returncode == 0
    assert whole.stderr == ""
    imports = int(whole.stdout.split()[-1])
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    # The first and the last half: typer's and our own, and what the subcommand imports when it runs, numpy among it.
    rng = random.Random(seed)
    for number in (1, *(rng.randint(1, imports) for _ in range(4))):
        done = interrupted_import(number)
        assert (done.returncode, done.stderr.strip()) == (130, "metronome: interrupted"), f"{number}, seed {seed}"


def test_the_handlers_are_those_of_before_afterwards():
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    assert main(["--help"]) == 0
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)] == before


def test_a_design_that_is_given_up_is_not_warned_of(interruptible):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyboardInterrupt), terminable():
            signal.raise_signal(signal.SIGINT)
        warnings.warn("part was created but never used", UserWarning, stacklevel=1)
