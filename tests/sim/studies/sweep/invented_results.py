"""Results that no machine has made: the real columns, with numbers drawn at random."""

import random

from metronome.hdl.layouts.counters import StallReason
from metronome.sim.studies.sweep.results import Results
from metronome.sim.studies.sweep.rows import failed_row
from metronome.sim.studies.sweep.spec import expand

PAPER = """
title = "invented, as Crouzet 2024"
about = "numbers from a generator"
preset = "TINY"
type = "float32"
kernel = ["blackscholes", "hotspot", "hotspot3d", "kmeans", "psort_group", "sgemm_group"]
prediction = ["not_taken", "btfn"]
[[block]]
mode = "baseline"
fetch = ["gtlrr", "gtlo", "lrr"]
issue = ["gtlrr", "gtlo", "lrr"]
[[block]]
mode = "swas"
issue = ["gtlrr", "gtlo", "lrr"]
"""

PTA = """
title = "invented, as Magalhães 2025"
kernel = ["conv3", "psort"]
type = "float32"
mode = "vortex"
fetch = ["lrr", "gto", "pta"]
issue = "lrr"
prediction = "not_taken"
[size]
conv3 = [16, 32]
psort = [64, 128, 96]
[[block]]
preset = "MID"
[[block]]
preset = "PAPER"
"""

OWN = """
title = "invented <b>& own</b>"
about = "a sweep of somebody's own"
preset = "TINY"
kernel = ["psort", "saxpy"]
size = [8, 16]
latency = [10, 40]
mode = "swas"
issue = ["lrr", "gto"]
"""


FORECAST = """
title = "invented forecasts"
preset = "TINY"
kernel = ["psort", "saxpy"]
size = 8
forecast = true
[[block]]
mode = "baseline"
fetch = ["lrr", "gto"]
issue = "lrr"
[[block]]
mode = "swas"
issue = "lrr"
"""


def measured(row, rng):
    """The row as of a run that has passed."""
    cycles = rng.randint(2_000, 9_000_000)
    parts = {f"stalls.{reason.name.lower()}": rng.random() for reason in StallReason if reason}
    parts["stalls.policy"] *= row["config.issue"] == "gtlo"
    parts |= {"committed": 3 * rng.random(), "nops": rng.random() * (row["config.mode"] == "swas")}
    scale = cycles / sum(parts.values())
    counts = {name: int(part * scale) for name, part in parts.items()}
    counts["committed"] += cycles - sum(counts.values())
    swas = row["config.mode"] == "swas"
    errors = 0 if swas else rng.randint(0, cycles // 3)
    threads = counts["committed"] * row["config.threads"] - rng.randint(0, counts["committed"])
    return row | counts | {
        "reason": None, "passed": True, "status": "ended", "cycles": cycles, "total_cycles": cycles + 100,
        "errors": errors, "discrepancies": 0 if swas else errors + rng.randint(0, 99), "committed_threads": threads,
        "ipc": threads / cycles, "error_rate": errors / cycles, "load_latency.count": rng.randint(1, 10_000),
        "load_latency.mean": rng.uniform(5, 400),
    }


def invent(folder, text, seed, *, failed=(), missing=(), changed=None):
    """Write results of the experiment ``text``; ``failed`` and ``missing`` are places in its order of runs.

    ``changed`` takes a row to another before it is written.
    """
    rng = random.Random(seed)
    print(f"invented results: seed {seed}")
    spec = expand(text, "invented", "invented", folder)
    keys = [f"{place:024x}" for place in range(len(spec.runs))]
    results = Results(folder)
    results.begin({"name": spec.name, "title": spec.title, "about": spec.about, "spec": text,
                   "runs": {key: run.title for key, run in zip(keys, spec.runs, strict=True)}})
    for place, (run, key) in enumerate(zip(spec.runs, keys, strict=True)):
        row = failed_row(run, key, f"invented fault {place} <at> main & co")
        if place not in failed:
            row = measured(row, rng)
        if place not in missing:
            results.add(row if changed is None else changed(row))
    return results
