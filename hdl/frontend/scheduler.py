"""The warp scheduler: the policies of the build over one eligible set."""

from collections.abc import Sequence
from dataclasses import replace

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..lib.onehot import encode
from ..policies import POLICIES, PolicyInputs

__all__ = ["Scheduler"]


class Scheduler(wiring.Component):
    """Selects at most one warp of ``eligible`` in every cycle, combinationally.

    ``policies`` (by default ``config.policies``) are in the build; ``policy`` chooses among them by position and exists
    only when there are several. Every policy follows what was selected, so the strap may change. In ``swas`` this one
    scheduler serves fetch and issue (paper 000, section IV-B2). State after reset: docs/policies.md.

    ``active``, ``waiting``, ``activated``, ``lanes`` (active lanes) and ``fetched`` (instructions fetched and not
    issued) are those of :class:`~hdl.policies.PolicyInputs`; a policy that does not read one costs nothing for it.

    With ``oracles`` = n, ``oracle_select[i]`` is what the policy in force picks from ``oracle_eligible[i]`` in this
    cycle: same state, same other inputs. It changes no state.

    Raises
    ------
    ValueError
        For a policy that hdl.policies does not have.
    """

    def __init__(self, config: SmConfig, *, policies: Sequence[str] | None = None, oracles: int = 0) -> None:
        self._warps = warps = config.warps
        self._names = tuple(config.policies if policies is None else policies)
        self._oracles = oracles
        for name in self._names:
            if name not in POLICIES:
                raise ValueError(f"policies must be among {', '.join(POLICIES)}, not {name!r}")
        members = {
            "eligible": In(warps),
            "active": In(warps),
            "waiting": In(warps),
            "activated": In(warps),
            "lanes": In(data.ArrayLayout(range(config.threads + 1), warps)),
            "fetched": In(data.ArrayLayout(range(config.buffer_depth + 1), warps)),
            "select": Out(warps),
            "select_valid": Out(1),
            "select_warp": Out(config.warp_bits),
        }
        if len(self._names) > 1:
            members["policy"] = In(range(len(self._names)))
        if oracles:
            members["oracle_eligible"] = In(data.ArrayLayout(warps, oracles))
            members["oracle_select"] = Out(data.ArrayLayout(warps, oracles))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs = PolicyInputs(
            eligible=self.eligible, active=self.active, waiting=self.waiting, activated=self.activated,
            lanes=[self.lanes[w] for w in range(self._warps)], fetched=[self.fetched[w] for w in range(self._warps)],
        )
        asked = [replace(inputs, eligible=self.oracle_eligible[i]) for i in range(self._oracles)]
        picks: list[list[Value]] = []
        policies = [POLICIES[name](warps=self._warps) for name in self._names]
        for policy in policies:
            state = Signal(policy.state_layout(), init=policy.state_reset(), name=f"{policy.name}_state")
            names = [f"{policy.name}_pick", *(f"{policy.name}_oracle_pick_{i}" for i in range(self._oracles))]
            signals = [Signal(self._warps, name=name) for name in names]
            m.d.comb += [s.eq(policy.pick(state, given)) for s, given in zip(signals, [inputs, *asked], strict=True)]
            policy.update(m, state, inputs, selected=self.select)
            picks.append(signals)
        outputs = [self.select, *(self.oracle_select[i] for i in range(self._oracles))]
        if len(picks) == 1:
            m.d.comb += [output.eq(pick) for output, pick in zip(outputs, picks[0], strict=True)]
        else:
            with m.Switch(self.policy):
                for number, signals in enumerate(picks):
                    with m.Case(number):
                        m.d.comb += [output.eq(pick) for output, pick in zip(outputs, signals, strict=True)]
        # Known sooner than the pick, where whoever is eligible keeps the scheduler busy.
        idles = any(policy.idles for policy in policies)
        m.d.comb += [
            self.select_valid.eq(self.select.any() if idles else self.eligible.any()),
            self.select_warp.eq(encode(self.select)),
        ]
        return m
