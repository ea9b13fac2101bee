"""A run of the hardware beside its prediction: everything that both say, compared."""

import dataclasses

import numpy as np

from metronome.hdl.config_names import named
from metronome.sim.predict.predictor import predict
from metronome.sim.predict.verify import Verifier, result_differences


def issues_of(config, events):
    """Cycle, warp and pc of each issue (pc -1: a NOP, -2: the run was cut off before stage X) from a run's trace."""
    found = [_issues_of(config, events, p) for p in range(config.schedulers)]
    cycles, warps, pcs = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.argsort(cycles, kind="stable")
    return cycles[order], warps[order], pcs[order]


def _issues_of(config, events, partition):
    front, stage_x = events[named("front", partition)], events[named("issue", partition)]
    selected, executed = front["select_valid"].astype(bool), stage_x["valid"].astype(bool)
    cycles = events["cycle"][selected].astype(np.int64)
    # Stage X, which has the pc, is some cycles behind the selection.
    selections = events["cycle"][executed].astype(np.int64) - config.issue_latency
    pcs = dict(zip(selections.tolist(), stage_x["pc"][executed].tolist(), strict=True))
    nops = front["select_nop"][selected].astype(bool)
    found = [-1 if nop else pcs.get(cycle, -2) for cycle, nop in zip(cycles.tolist(), nops.tolist(), strict=True)]
    warps = front["select_warp"][selected].astype(np.int64) * config.schedulers + partition
    return cycles, warps, np.array(found, np.int64)


def differences(config, request, result, **how):
    """What the run's ``result`` (of ``request``, perhaps with its trace) has that its prediction has not: lines."""
    verifier = None if result.events is None else Verifier(config, result.events)
    asked = dataclasses.replace(request, trace=False, check=False, memcheck=False)
    prediction = predict(config, asked, watcher=verifier, **how)
    found = [str(verifier.parting)] if verifier is not None and verifier.parting is not None else []
    found += result_differences(result, prediction.result)
    if result.events is not None:
        found += _issues(issues_of(config, result.events), prediction.issued)
    return found


def _issues(measured, predicted):
    cycles, warps, pcs = measured
    count = min(len(cycles), len(predicted))
    wrong = (cycles[:count] != predicted["cycle"][:count]) | (warps[:count] != predicted["warp"][:count]) | (
        (pcs[:count] != predicted["pc"][:count]) & (pcs[:count] != -2))
    if wrong.any():
        at = int(wrong.argmax())
        return [f"issue {at}: measured {cycles[at]}, {warps[at]}, {pcs[at]:#x}, predicted {predicted[at]}"]
    return [] if len(cycles) == len(predicted) else [f"issues: measured {len(cycles)}, predicted {len(predicted)}"]
