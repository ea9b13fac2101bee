"""Sweeps on the simulated SM: what is killed goes on, what fails stays a row, and a cluster gives the same table."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metronome.sim.studies.sweep.pools import DaskPool, LocalPool
from metronome.sim.studies.sweep.results import Results
from metronome.sim.studies.sweep.spec import SpecError, expand
from metronome.sim.studies.sweep.sweep import plan, sweep
from tests.support import builds

pytestmark = [pytest.mark.slow, builds.on("TINY")]

SPEC = """
preset = "TINY"
kernel = ["psort", "vecadd"]
size = {psort = [4, 5], vecadd = [6]}
issue = ["lrr", "gtlo"]
"""
RUNS = 6


def swept(text, folder, workers=2):
    """Do the sweep; the keys of what was run, and the folder's results."""
    finished = []
    for _, event in sweep(plan(expand(text, "mine", "mine.toml", Path())), folder, LocalPool(workers)):
        if event is not None and event.row is not None:
            finished.append(event.row["run"])
    return finished, Results.open(folder)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    finished, results = swept(SPEC, tmp_path_factory.mktemp("results") / "mine")
    table = results.table(times=False)
    assert len(finished) == table.num_rows == RUNS
    assert all(table["passed"].to_pylist()), table["reason"].to_pylist()
    return table


@pytest.mark.long
def test_two_sweeps_give_one_table(undisturbed, tmp_path):
    finished, results = swept(SPEC, tmp_path / "again", workers=1)
    assert len(finished) == RUNS
    assert results.table(times=False).equals(undisturbed)
    assert results.table()["sim_seconds"].null_count == 0
    assert swept(SPEC, tmp_path / "again")[0] == [], "nothing is left to do"


def test_the_rows_are_what_was_asked_for(undisturbed):
    rows = undisturbed.to_pylist()
    assert [(row["kernel"], row["config.size"], row["config.issue"]) for row in rows] == [
        (kernel, size, issue) for kernel, size in (("psort", 4), ("psort", 5), ("vecadd", 6))
        for issue in ("lrr", "gtlo")
    ]
    for row in rows:
        stalls = sum(count for name, count in row.items() if name.startswith("stalls."))
        assert row["committed"] + row["nops"] + stalls == row["cycles"]
        assert row["ipc"] == row["committed_threads"] / row["cycles"]
        assert row["errors"] == row["discrepancies"] == 0


def test_what_is_predicted_is_what_is_counted(undisturbed, tmp_path):
    """Every column but for what says where the row comes from, and no simulation is built."""
    spec = SPEC + 'engine = "predict"\n'
    planned = plan(expand(spec, "mine", "mine.toml", Path()))
    assert planned.machines == 0
    finished, results = swept(spec, tmp_path / "predicted", workers=1)
    assert len(finished) == RUNS
    predicted, unlike = results.table(times=False), ("run", "config.engine", "config.policies")
    assert predicted["config.engine"].to_pylist() == ["predict"] * RUNS
    assert predicted.drop_columns(list(unlike)).equals(undisturbed.drop_columns(list(unlike)))
    assert not set(finished) & set(undisturbed["run"].to_pylist())


@pytest.mark.parametrize(("axes", "message"), [
    ('mode = "baseline"', "only swas can be predicted, not baseline"),
    ("check = true", "check and memcheck watch the hardware"),
])
def test_what_cannot_be_predicted_is_told_before_anything_runs(axes, message):
    text = f'kernel = "vecadd"\npreset = "TINY"\nengine = "predict"\n{axes}\n'
    with pytest.raises(SpecError, match=message):
        plan(expand(text, "mine", "mine.toml", Path()))


@pytest.mark.more
def test_a_forecast_stands_in_the_row(tmp_path):
    text = 'kernel = "psum"\npreset = "TINY"\nsize = 8\nissue = "lrr"\nforecast = true\n'
    (row,) = swept(text, tmp_path / "forecast", workers=1)[1].table().to_pylist()
    assert (row["forecast.cycles"], row["forecast.total_cycles"]) == (row["cycles"], row["total_cycles"])
    assert (row["forecast.same_cycle"], row["forecast.same_place"], row["forecast.problem"]) == (1, 1, None)
    assert row["config.forecast"] is True


#: A kernel that stores where nothing is, one whose result is wrong, and one that never ends.
HOST = """
import numpy as np, struct
from metronome.riscv_kernels.host import Buffers, Problem, compare
ABOUT, TYPES, DEFAULT_SIZE, MAX_SIZE = "x", ("int32",), 1, 3
def make(dtype, size, seed, config):
    buffers = Buffers(config)
    out = buffers.place_output("out", 4)
    return Problem(arguments=struct.pack("<2I", out, size), buffers=buffers.placed,
                   check=lambda read: compare(read, "out", out, np.zeros(4, np.int32)))
"""
KERNEL = """
#include "metronome.h"
int main(void) {
    volatile uint32_t *const args = kernel_arguments();
    region_begin();
    if (args[1] == 1) *(volatile uint32_t *)4 = 0;
    while (args[1] == 3) ;
    return 0;
}
"""


def test_a_run_that_fails_is_a_row_and_does_not_stop_the_rest(tmp_path):
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / "kernel.c").write_text(KERNEL)
    (folder / "host.py").write_text(HOST)
    text = f'kernel = ["{folder}", "vecadd"]\npreset = "TINY"\nissue = "lrr"\nmax_cycles = 20000\n'
    text += f'[size]\n"{folder}" = [1, 2, 3]\nvecadd = 4\n'
    finished, results = swept(text, tmp_path / "results", workers=1)
    assert len(finished) == 4
    rows = results.table().to_pylist()
    assert [row["passed"] for row in rows] == [False, False, False, True]
    assert [row["status"] for row in rows] == ["fault", "ended", "hang", "ended"]
    assert rows[0]["reason"].startswith("fault: store ") and "kernel.c:6" in rows[0]["reason"]
    assert rows[1]["reason"].startswith("check: out[0] at ") and "expected 0" in rows[1]["reason"]
    assert rows[2]["reason"] == "not ended after 20000 cycles (--max-cycles)"


def test_a_kernel_that_does_not_build_is_told_before_anything_runs(tmp_path):
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / "kernel.c").write_text("int main(void) { return x; }")
    (folder / "host.py").write_text(HOST)
    with pytest.raises(SpecError, match="undeclared identifier"):
        plan(expand(f'kernel = ["vecadd", "{folder}"]', "mine", "mine.toml", Path()))


def command(spec, folder):
    """A sweep in a process of its own."""
    arguments = ["sweep", str(spec), "--output", str(folder), "--jobs", "2"]
    program = "import sys; from metronome.scripts.cli import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )


def descendants(pid):
    """The processes that a process has started, and those that they have, with their command lines."""
    found = {}
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            try:
                found[child] = Path(f"/proc/{child}/cmdline").read_text()
                found |= descendants(child)
            except FileNotFoundError:
                continue
    return found


def finish(spec, folder, undisturbed):
    process = command(spec, folder)
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 0, said
    assert Results.open(folder).table(times=False).equals(undisturbed)


@pytest.mark.long
@pytest.mark.parametrize("kills", [1, 10])
def test_a_sweep_that_is_killed_goes_on(undisturbed, tmp_path, kills):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    spec, folder = tmp_path / "mine.toml", tmp_path / "results"
    spec.write_text(SPEC)
    killed = 0
    while killed < kills:
        process = command(spec, folder)
        time.sleep(rng.uniform(0.5, 12))
        started = descendants(process.pid)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        else:  # it was done already: begin another one
            for path in (folder / "runs").glob("*"):
                path.unlink()
        process.communicate(timeout=60)
        killed += 1
        deadline = time.monotonic() + 20
        while any(Path(f"/proc/{pid}").exists() and "metronome" in Path(f"/proc/{pid}/cmdline").read_text()
                  for pid in started):
            assert time.monotonic() < deadline, "a process of the killed sweep is still there"
            time.sleep(0.1)
    finish(spec, folder, undisturbed)


@pytest.mark.long
def test_a_worker_that_is_killed_loses_nothing(undisturbed, tmp_path):
    spec, folder = tmp_path / "mine.toml", tmp_path / "results"
    spec.write_text(SPEC)
    process = command(spec, folder)
    killed = 0
    deadline = time.monotonic() + 300
    while killed < 2 and process.poll() is None:
        assert time.monotonic() < deadline
        workers = [pid for pid, line in descendants(process.pid).items() if "spawn_main" in line]
        simulations = [pid for pid, line in descendants(process.pid).items() if "metronome_top" in line]
        if workers and simulations and len(list((folder / "runs").glob("[!.]*.parquet"))) > killed:
            parent = int(Path(f"/proc/{simulations[0]}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(parent, signal.SIGKILL)
            killed += 1
        time.sleep(0.05)
    said, _ = process.communicate(timeout=600)
    assert killed == 2, "the sweep was faster than this test"
    assert process.returncode == 0, said
    assert Results.open(folder).table(times=False).equals(undisturbed)


@pytest.mark.more
def test_a_worker_that_always_dies_is_a_row_with_that_reason(tmp_path):
    folder = tmp_path / "deadly"
    folder.mkdir()
    (folder / "kernel.c").write_text(KERNEL)
    # Only in a worker: the sweep itself calls it too, to see that the kernel can be prepared.
    deadly = "    import multiprocessing, os\n    if multiprocessing.parent_process() is not None: os._exit(3)\n"
    (folder / "host.py").write_text(HOST.replace("    buffers = B", f"{deadly}    buffers = B"))
    text = f'kernel = ["{folder}", "vecadd"]\npreset = "TINY"\nissue = "lrr"\nsize = 2\n'
    _, results = swept(text, tmp_path / "results")
    dead, alive = results.table().to_pylist()
    assert dead["status"] == "error" and "has died 3 times" in dead["reason"]
    assert alive["passed"]


@pytest.fixture
def cluster():
    """A scheduler with two workers, each a process."""
    distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, scheduler_port=0,
    ) as running:
        yield running


@pytest.mark.long  # test_two_sweeps_give_one_table has the processes of this machine
@pytest.mark.filterwarnings("default")  # of a library: it is not ours to mend
def test_a_dask_cluster_gives_the_same_table(undisturbed, tmp_path, cluster):
    spec = expand(SPEC, "mine", "mine.toml", Path())
    events = [event for _, event in sweep(plan(spec), tmp_path, DaskPool(cluster.scheduler_address)) if event]
    assert [event.kind for event in events].count("built") == 1
    assert Results.open(tmp_path).table(times=False).equals(undisturbed)
