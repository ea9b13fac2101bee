"""The builds that the tests of all front ends share: preset, scheme, prediction, caches; every policy at hand."""

import itertools
from dataclasses import replace

import pytest

from metronome.hdl.config import Coordination, Prediction
from metronome.hdl.policies import POLICIES
from metronome.sim.program.kernels import kernels
from tests.support.builds import BARE, BASE, MID, ONE, SMALL, TINY, on

#: Issue and fetch policies of a scheme: all in swas; the nine pairs of Crouzet 2024; Vortex's own (policies.md).
USUAL = ("lrr", "gtlrr", "gtlo")
SCHEMES = {
    Coordination.SWAS: (tuple(POLICIES), ()),
    Coordination.BASELINE: (USUAL, USUAL),
    Coordination.VORTEX: (USUAL, ("fixed",)),
}
#: Preset, problem size, side of a matrix, random programs.
SIZES = {
    "TINY": (TINY, 11, 3, 30), "BASE": (BASE, 37, 6, 30), "MID": (MID, 133, 9, 20), "SMALL": (SMALL, 11, 3, 30),
    "ONE": (ONE, 11, 3, 30),
}
#: The machines of which there is one front end only.
_SINGLE = ("SMALL", "ONE")
MATRIX_KERNELS = ("sgemm", "transpose", "conv3", "sfilter", "hotspot", "hotspot3d", "sgemm_group",
                  "conv_rows", "conv_columns", "gaussian", "nw", "srad")
#: What these ask of the machine, the other kernels do too. So they have few runs: test_kernels_rtl, measure_cycles.
MORE_KERNELS = (
    "conv3", "sfilter", "conv_rows", "conv_columns", "row_sums", "blackscholes", "hotspot", "hotspot3d", "kmeans",
    "psort_group", "sgemm_group", "backprop", "gaussian", "nn", "nw", "pathfinder", "srad",
)
TYPES = ("int32", "float32")
#: Model, latency, seed: every memory model.
MEMORIES = [("fixed", 20, 1), ("dram", 1, 1), ("random", 60, 2), ("tdm", 1, 1)]
#: What each kind of caches is in the configuration; "bare" is also without what else tests.support.builds.BARE leaves
#: out.
CACHES = {
    "cached": {},
    "bare": {name: getattr(BARE, name) for name in ("dcache_bytes", "interleave_stacks", "check_divergent_branch")},
}
#: Each of them in both types.
NAMES = [kernel.name for kernel in kernels() if kernel.name not in MORE_KERNELS]

#: What `make test` runs: a build costs it half a minute of a core.
SWAS = ("SMALL", Coordination.SWAS, Prediction.BTFN)
BASELINE = ("ONE", Coordination.BASELINE, Prediction.BTFN)
QUICK = ((*SWAS, "cached"), (*BASELINE, "cached"))
#: What `make test-more` runs, too. All others are long.
VORTEX = ("TINY", Coordination.VORTEX, Prediction.NOT_TAKEN)
MORE = {("BASE", Coordination.SWAS, Prediction.BTFN, "cached"),
        ("TINY", Coordination.SWAS, Prediction.NOT_TAKEN, "bare")}


def group_of(preset, scheme, prediction, caches="cached"):
    """The name of a build, for the mark ``build``; that of tests.support.builds where it is one of those."""
    config, _ = build_of(preset, scheme, prediction, caches)
    shared = {BASE: "BASE", BARE: "bare", SMALL: "SMALL"}
    return shared.get(config) or f"{preset} {scheme} {prediction} {caches}"


def builds(quick=QUICK):
    """One parameter a build: those of ``quick``, of MORE (``more``), and all others (``long``)."""
    several = itertools.product((name for name in SIZES if name not in _SINGLE), SCHEMES, Prediction, CACHES)
    for build in itertools.chain(quick, several):
        kind = [] if build in quick else [pytest.mark.more if build in MORE else pytest.mark.long]
        yield pytest.param(*build, marks=[on(group_of(*build)), *kind])


def build_of(preset, scheme, prediction, caches="cached"):
    """The configuration of a build, and its pairs of fetch and issue policy."""
    policies, fetch_policies = SCHEMES[scheme]
    config = replace(
        SIZES[preset][0], coordination=scheme, policies=policies, fetch_policies=fetch_policies, prediction=prediction,
        **CACHES[caches],
    )
    return config, list(itertools.product(fetch_policies or (None,), policies))
