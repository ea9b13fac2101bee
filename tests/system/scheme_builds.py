"""The builds that the tests of all front ends share: preset, scheme, prediction, caches; every policy at hand."""

import itertools
from dataclasses import replace

import pytest

from hdl.config import Coordination, Prediction
from hdl.policies import POLICIES
from hdl.presets import BASE, MID, TINY
from sim.kernel import kernels

#: Issue and fetch policies of a scheme: all in swas; the paper's nine pairs; Vortex's own fixed priority (policies.md).
USUAL = ("lrr", "gtlrr", "gtlo")
SCHEMES = {
    Coordination.SWAS: (tuple(POLICIES), ()),
    Coordination.BASELINE: (USUAL, USUAL),
    Coordination.VORTEX: (USUAL, ("fixed",)),
}
#: Preset, problem size, side of a matrix, random programs.
SIZES = {"TINY": (TINY, 11, 3, 30), "BASE": (BASE, 37, 6, 30), "MID": (MID, 133, 9, 20)}
MATRIX_KERNELS = ("sgemm", "transpose")
TYPES = ("int32", "float32")
#: Model, latency, seed: every memory model.
MEMORIES = [("fixed", 20, 1), ("dram", 1, 1), ("random", 60, 2), ("tdm", 1, 1)]
#: What each kind of caches is in the configuration.
CACHES = {"cached": {}, "no data cache": {"dcache_bytes": 0}}
NAMES = [kernel.name for kernel in kernels()]

#: What `make test` runs: a build costs it half a minute of a core. All others, and MID, are long.
QUICK = {
    ("TINY", Coordination.SWAS, Prediction.NOT_TAKEN, "cached"),
    ("TINY", Coordination.SWAS, Prediction.BTFN, "no data cache"),
    ("TINY", Coordination.BASELINE, Prediction.NOT_TAKEN, "cached"),
    ("TINY", Coordination.VORTEX, Prediction.NOT_TAKEN, "cached"),
    ("BASE", Coordination.BASELINE, Prediction.BTFN, "cached"),
}


def group_of(preset, scheme, prediction, caches="cached"):
    """The tests of one build are one group, so that two processes do not wait for each other's."""
    return f"{preset} {scheme} {prediction}" + ("" if caches == "cached" else f" {caches}")


def builds():
    """One parameter a build."""
    for build in itertools.product(SIZES, SCHEMES, Prediction, CACHES):
        marks = [pytest.mark.xdist_group(group_of(*build)), *([] if build in QUICK else [pytest.mark.long])]
        yield pytest.param(*build, marks=marks)


def build_of(preset, scheme, prediction, caches="cached"):
    """The configuration of a build, and its pairs of fetch and issue policy."""
    policies, fetch_policies = SCHEMES[scheme]
    config = replace(
        SIZES[preset][0], coordination=scheme, policies=policies, fetch_policies=fetch_policies, prediction=prediction,
        **CACHES[caches],
    )
    return config, list(itertools.product(fetch_policies or (None,), policies))
