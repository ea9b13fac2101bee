"""Invented bounds, as ``metronome wcet --json`` writes them."""


def bound(kernel, size, policy, cycles, observed=None, **more):
    """A document of ``metronome wcet``, as far as a report reads it."""
    config = {"size": size, "warps": 4, "threads": 4, "issue": policy, "prediction": "btfn", "memory": "fixed"}
    document = {
        "kernel": kernel, "config": config, "bound": cycles, "exact": observed is None,
        "composition": {"instructions": cycles - 100, "launch": 100}, "ranges": [], **more,
    }
    if observed is not None:
        document |= {
            "observed_max": observed, "observed_runs": 60, "observed_on_hardware": 2, "ratio": cycles / observed,
        }
    return document
