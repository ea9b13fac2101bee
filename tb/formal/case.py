"""A property with the configuration for which it is proved."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from metronome.hdl.config import Coordination, Prediction, SmConfig, Turns
from metronome.hdl.gpu.config import Dispatch, GpuConfig, Interconnect, L2Kind
from metronome.sim.machine.gpu_settings import GPU_FIELDS

from .properties import OF_PARTITIONS, OF_SMS, PRIVACY, PROPERTIES, SEPARATION, TURNS

__all__ = ["Case", "Parameters", "schemes_of"]

#: Fields of SmConfig, or for P11 of GpuConfig, and their values.
Parameters = tuple[tuple[str, Any], ...]


def schemes_of(name: str) -> tuple[str, ...]:
    """Return the schemes to which a property applies; most properties hold only for ``swas``.

    For other schemes, P2 says that no empty buffer is popped and none overflows, P3 that issue follows its policy, and
    P4, with ``private`` only, what P8 assumes of the front end.
    """
    every = tuple(its.value for its in Coordination)
    return every if name in {"P2", "P3", "P4", SEPARATION} else (Coordination.SWAS.value,)


@dataclass(frozen=True)
class Case:
    """A property and the configuration for which it is proved.

    ``parameters``: values of the fields that policies and predictors read, of those of partitions and of the pipeline.
    ``partition``: the one whose separation from the others P10 is about; for P11 the SM. P1 to P8 are proved of any one
    partition. For P11 the parameters are also those of the GPU, whose interconnect is ``tdm`` if none is named.

    Raises
    ------
    ValueError
        If the property does not exist, or does not apply to the scheme, the policy or the prediction.
    """

    property: str
    scheme: str = "swas"
    policy: str = "lrr"
    prediction: str = "not_taken"
    warps: int = 4
    icache: bool = True
    parameters: Parameters = ()
    partition: int = 0

    def __post_init__(self) -> None:
        if self.property not in PROPERTIES:
            raise ValueError(f"property must be one of {', '.join(PROPERTIES)}, not {self.property!r}")
        if self.scheme not in schemes_of(self.property):
            raise ValueError(f"scheme must be {' or '.join(schemes_of(self.property))} for {self.property}, "
                             f"not {self.scheme!r}")
        private = self.prediction == Prediction.PRIVATE.value
        if self.property == "P4" and self.scheme != Coordination.SWAS.value and not private:
            raise ValueError(f"prediction must be private for P4 of {self.scheme}, not {self.prediction!r}")
        if self.property in ("P6", TURNS) and self.policy != "lrr":
            raise ValueError(f"policy must be lrr for {self.property}, not {self.policy!r}")
        if self.property in OF_PARTITIONS and self.schedulers() == 1:
            raise ValueError(f"schedulers must be 2 or 4 for {self.property}, not 1")
        if self.property == SEPARATION and dict(self.parameters).get("turns") is Turns.OLDER:
            raise ValueError("turns must be alternate for P10, not older: computed turns depend on all partitions")
        self._require_sms()
        if self.property == PRIVACY and not private:
            raise ValueError(f"prediction must be private for P8, not {self.prediction!r}")

    def _require_sms(self) -> None:
        """Require a GPU that P11 knows, and none for other properties."""
        parameters = dict(self.parameters)
        if (self.property == OF_SMS) != ("sms" in parameters):
            raise ValueError(f"sms must be given for {OF_SMS}, and for no other property")
        if parameters.get("l2") is L2Kind.SHARED:
            raise ValueError(f"l2 must be none or divided for {OF_SMS}, not shared: SMs replace each other's lines")
        if parameters.get("dispatch") is Dispatch.DYNAMIC:
            raise ValueError(f"dispatch must be none or static for {OF_SMS}, not dynamic: the first SM that asks gets "
                             "the next block")

    def schedulers(self) -> int:
        """Return the number of partitions."""
        return dict(self.parameters).get("schedulers", 1)

    def config(self) -> SmConfig:
        """Return the default configuration with the changes that the case names."""
        scheme = Coordination(self.scheme)
        config = SmConfig(
            warps=self.warps, policies=(self.policy,), coordination=scheme, prediction=Prediction(self.prediction),
            fetch_policies=() if scheme is Coordination.SWAS else ("lrr",),
            **{name: value for name, value in self.parameters if name not in GPU_FIELDS},
        )
        return config if self.icache else dataclasses.replace(config, icache_bytes=0)

    def gpu(self) -> GpuConfig:
        """Return the GPU of P11; what only a simulation needs is left out of its SMs."""
        fields = {name: value for name, value in self.parameters if name in GPU_FIELDS}
        return GpuConfig(sm=dataclasses.replace(self.config(), probe=False, assertions=False),
                         **{"interconnect": Interconnect.TDM} | fields)
