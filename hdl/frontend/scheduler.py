"""The warp scheduler: applies the policies of the build to one set of eligible warps."""

from collections.abc import Sequence
from dataclasses import replace

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..layouts.control import change_layout
from ..lib.component import Component
from ..lib.onehot import encode
from ..policies import POLICIES, Policy, PolicyInputs

__all__ = ["Scheduler"]


class Scheduler(Component):
    """Selects at most one warp of ``eligible`` in every cycle, combinationally.

    The build contains ``policies`` (by default ``config.policies``). The state of every policy follows the actual
    selection, so the strap may change. In ``swas``, one scheduler serves both fetch and issue (Crouzet 2024, section
    IV-B2). State after reset: docs/policies.md. An input (:class:`~hdl.policies.PolicyInputs`) that no policy reads
    costs no hardware.

    With ``doubt``, one warp may drop out late in the cycle. Both picks are computed, and ``drop`` selects one of them.

    Raises
    ------
    ValueError
        If hdl.policies does not have one of the policies.
    """

    def __init__(self, config: SmConfig, *, policies: Sequence[str] | None = None, oracles: int = 0,
                 doubt: bool = False) -> None:
        self._config = config
        self._warps = warps = config.warps
        self._names = tuple(config.policies if policies is None else policies)
        self._oracles = oracles
        self._doubt = doubt
        for name in self._names:
            if name not in POLICIES:
                raise ValueError(f"policies must be among {', '.join(POLICIES)}, not {name!r}")
        members = {
            # Masks and arrays have one element per warp; all refer to the current cycle.
            "eligible": In(warps),  # the set to select from; with ``drop``, excluding ``doubtful``
            "active": In(warps),  # warps that are running
            "waiting": In(warps),  # active warps that wait at a barrier or in wspawn
            "activated": In(warps),  # warps that start; active from the next cycle on
            "lanes": In(data.ArrayLayout(range(config.threads + 1), warps)),  # active lanes
            #: Instructions fetched and not issued, excluding NOPs.
            "fetched": In(data.ArrayLayout(range(config.buffer_depth + 1), warps)),
            "lost": In(warps),  # warps that lost locality in the data cache in the previous cycle
            "select": Out(warps),  # the selected warp (one-hot or 0)
            "select_valid": Out(1),  # a warp is selected
            "select_warp": Out(config.warp_bits),  # the number of the selected warp
        }
        if config.policy_csr:
            members["change"] = In(change_layout())  # a change of policy parameters; in force from the next cycle on
        if len(self._names) > 1:
            members["policy"] = In(range(len(self._names)))  # the policy in force, as an index into ``policies``
        if doubt:
            members["doubtful"] = In(warps)  # the warp that may drop out (one-hot or 0)
            members["drop"] = In(1)  # late in the cycle: the doubtful warp drops out
            members["select_kept"] = Out(warps)  # the pick without ``drop``; available earlier
            members["select_dropped"] = Out(warps)  # the pick with ``drop``; available earlier
        if oracles:
            members["oracle_eligible"] = In(data.ArrayLayout(warps, oracles))  # further sets that need a pick
            #: The current policy's pick from each of these sets, with the same state and inputs.
            members["oracle_select"] = Out(data.ArrayLayout(warps, oracles))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        final = Signal(self._warps)
        sets: list[Value] = [self.eligible]
        if self._doubt:
            sets.append(self.eligible & ~self.doubtful)
        m.d.comb += final.eq(Mux(self.drop, sets[1], sets[0]) if self._doubt else self.eligible)
        inputs = PolicyInputs(
            eligible=final, active=self.active, waiting=self.waiting, activated=self.activated,
            lanes=[self.lanes[w] for w in range(self._warps)], fetched=[self.fetched[w] for w in range(self._warps)],
            lost=self.lost, change=self.change if self._config.policy_csr else None,
        )
        policies = [POLICIES[name].of(self._config) for name in self._names]
        states = [
            # The type stubs allow only numbers as `init`.
            Signal(policy.state_layout(), init=policy.state_reset(),  # type: ignore[arg-type]
                   name=f"{policy.name}_state")
            for policy in policies
        ]
        for policy, state in zip(policies, states, strict=True):
            policy.update(m, state, replace(inputs, selects=self.select_valid), selected=self.select)
        picks = [
            self._pick(m, f"select_{number}", policies, states, replace(inputs, eligible=each))
            for number, each in enumerate(sets)
        ]
        # Available earlier than the pick if every policy selects a warp whenever one is eligible.
        idles = any(policy.idles for policy in policies)
        valid = [pick.any() if idles else each.any() for pick, each in zip(picks, sets, strict=True)]
        if self._doubt:
            m.d.comb += [
                self.select_kept.eq(picks[0]),
                self.select_dropped.eq(picks[1]),
                self.select.eq(Mux(self.drop, picks[1], picks[0])),
                self.select_valid.eq(Mux(self.drop, valid[1], valid[0])),
                self.select_warp.eq(Mux(self.drop, encode(picks[1]), encode(picks[0]))),
            ]
        else:
            m.d.comb += [
                self.select.eq(picks[0]), self.select_valid.eq(valid[0]), self.select_warp.eq(encode(self.select)),
            ]
        for i in range(self._oracles):
            asked = replace(inputs, eligible=self.oracle_eligible[i])
            m.d.comb += self.oracle_select[i].eq(self._pick(m, f"oracle_{i}", policies, states, asked))
        return m

    def _pick(self, m: Module, name: str, policies: Sequence[Policy], states: Sequence[data.View],
              inputs: PolicyInputs) -> Signal:
        """Return the pick of the policy in force."""
        pick = Signal(self._warps, name=name)
        if len(policies) == 1:
            m.d.comb += pick.eq(policies[0].pick(states[0], inputs))
            return pick
        with m.Switch(self.policy):
            for number, (policy, state) in enumerate(zip(policies, states, strict=True)):
                with m.Case(number):
                    m.d.comb += pick.eq(policy.pick(state, inputs))
        return pick
