"""The builds that the tests of all front ends share: preset, scheme and prediction, with every policy at hand."""

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
MEMORIES = [("fixed", 20, 1), ("random", 60, 2)]
NAMES = [kernel.name for kernel in kernels()]

#: What `make test` runs of BASE; the rest, and MID, are long.
QUICK = {(Coordination.VORTEX, Prediction.NOT_TAKEN), (Coordination.BASELINE, Prediction.BTFN)}


def builds():
    """One parameter a build; each is a group, so that two processes do not wait for each other's."""
    for preset, scheme, prediction in itertools.product(SIZES, SCHEMES, Prediction):
        quick = preset == "TINY" or (preset == "BASE" and (scheme, prediction) in QUICK)
        marks = [pytest.mark.xdist_group(f"{preset} {scheme} {prediction}"), *([] if quick else [pytest.mark.long])]
        yield pytest.param(preset, scheme, prediction, marks=marks)


def build_of(preset, scheme, prediction):
    """The configuration of a build, and its pairs of fetch and issue policy."""
    policies, fetch_policies = SCHEMES[scheme]
    config = replace(
        SIZES[preset][0], coordination=scheme, policies=policies, fetch_policies=fetch_policies, prediction=prediction,
    )
    return config, list(itertools.product(fetch_policies or (None,), policies))
