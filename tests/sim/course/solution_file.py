"""The solution as a file that a student could hand in, put together from the project's own policies."""

import inspect

from metronome.sim import parameter_policies, policies

HEAD = '''from dataclasses import dataclass, replace

from metronome.sim.course.scheduler import PolicyInputs, Scheduler, after, members

TOTAL_BITS = 20
'''


def solution():
    order = inspect.getsource(policies.Order), inspect.getsource(policies.GreedyOldestDispatch)
    locality = inspect.getsource(parameter_policies.Locality), inspect.getsource(parameter_policies.CacheConscious)
    text = "\n\n".join([HEAD, *order, *locality])
    text = text.replace("GreedyOldestDispatch(Policy[Order])", "GreedyThenOldest(Scheduler[Order])")
    text = text.replace("CacheConscious(Policy[Locality])", "CacheConscious(Scheduler[Locality])")
    return "from __future__ import annotations\n" + text
