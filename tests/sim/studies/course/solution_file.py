"""The solution as a file that a student could hand in, put together from the project's own policies."""

import inspect

from metronome.sim.machine.policies import plain as policies
from metronome.sim.machine.policies import with_parameters as parameter_policies
from tests.sim.studies.course.wrong_solutions import _held

HEAD = '''from dataclasses import dataclass, replace

from metronome.sim.machine.policies.base import Policy, PolicyInputs, State, after, members

TOTAL_BITS = 20
'''


def solution():
    order = inspect.getsource(policies.Order), inspect.getsource(policies.GreedyOldestDispatch)
    ours = parameter_policies.Locality, parameter_policies._ChangeablePolicy, parameter_policies.CacheConscious
    text = "\n\n".join([HEAD, *order, *map(inspect.getsource, ours)])
    text = text.replace("GreedyOldestDispatch(Policy[Order])", "GreedyThenOldest(Policy[Order])")
    return "from __future__ import annotations\n" + text


def wrong_solution(kind):
    """The solution with the mistake of ``kind``, one of wrong_solutions.py, as a file."""
    text = inspect.getsource(kind)
    for ours, name in (("GreedyOldestDispatch", "GreedyThenOldest"), ("CacheConscious", "CacheConscious")):
        text = text.replace(f"class {kind.__name__}({ours})", f"class {name}({name})")
    lowest = "\n\nfrom metronome.sim.machine.policies.base import lowest\n\n\n"
    return solution() + lowest + text + inspect.getsource(_held)
