"""The solution as a file that a student could hand in, put together from the project's own policies."""

import inspect

from metronome.sim.machine.policies import plain as policies
from metronome.sim.machine.policies import with_parameters as parameter_policies

HEAD = '''from dataclasses import dataclass, replace
from typing import TypeVar

from metronome.sim.studies.course.scheduler import PolicyInputs, Scheduler, after, members

TOTAL_BITS = 20
State = TypeVar("State")
'''


def solution():
    order = inspect.getsource(policies.Order), inspect.getsource(policies.GreedyOldestDispatch)
    ours = parameter_policies.Locality, parameter_policies._Changing, parameter_policies.CacheConscious
    text = "\n\n".join([HEAD, *order, *map(inspect.getsource, ours)])
    text = text.replace("GreedyOldestDispatch(Policy[Order])", "GreedyThenOldest(Scheduler[Order])")
    text = text.replace("_Changing(Policy[State])", "_Changing(Scheduler[State])")
    return "from __future__ import annotations\n" + text
