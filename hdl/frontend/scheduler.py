"""The warp scheduler: the policies of the build over one eligible set."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import SmConfig
from ..lib.onehot import encode
from ..policies import POLICIES

__all__ = ["Scheduler"]


class Scheduler(wiring.Component):
    """Selects one warp of ``eligible`` in every cycle, combinationally.

    ``policy`` chooses among ``config.policies`` by position; it exists only when there are several. In ``swas`` this
    one scheduler serves fetch and issue (paper 000, section IV-B2). State after reset: ``last`` = W-1.

    Raises
    ------
    ValueError
        For a policy that hdl.policies does not have.
    """

    def __init__(self, config: SmConfig) -> None:
        self._config = config
        for name in config.policies:
            if name not in POLICIES:
                raise ValueError(f"policies must be among {', '.join(POLICIES)}, not {name!r}")
        members = {
            "eligible": In(config.warps),
            "select": Out(config.warps),
            "select_valid": Out(1),
            "select_warp": Out(config.warp_bits),
        }
        if len(config.policies) > 1:
            members["policy"] = In(range(len(config.policies)))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        picks = []
        for name in self._config.policies:
            policy = POLICIES[name](warps=self._config.warps)
            state = Signal(policy.state_layout(), init=policy.state_reset(), name=f"{name}_state")
            pick = Signal(self._config.warps, name=f"{name}_pick")
            m.d.comb += pick.eq(policy.pick(state, self.eligible))
            policy.update(m, state, selected=self.select)
            picks.append(pick)
        if len(picks) == 1:
            m.d.comb += self.select.eq(picks[0])
        else:
            with m.Switch(self.policy):
                for number, pick in enumerate(picks):
                    with m.Case(number):
                        m.d.comb += self.select.eq(pick)
        m.d.comb += [
            self.select_valid.eq(self.eligible.any()),
            self.select_warp.eq(encode(self.select)),
        ]
        return m
