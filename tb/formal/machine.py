"""The whole SM for proofs about its partitions: the connections are the SM's own, and what they connect is cut out.

Cut out are the units that partitions share, and of each partition what holds values: its I-cache, its units, its
registers and all other memories. Their outputs are free in every cycle.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amaranth.hdl import Cat, MemoryInstance, Signal, Value
from amaranth.lib import wiring

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import Unit
from metronome.hdl.isa.sharing import shares_units
from metronome.hdl.lib.partitions import named
from metronome.hdl.sm import Sm

from .inside import Internals

__all__ = ["Machine", "Partition", "cut_memories", "ports"]

#: The shared units, and the observer, which only the CSRs read.
_SHARED = ("lsu", "control.simt", "control.csr", "observer")
#: Signals of a partition that have a meaning only in some cycles. Answers of shared units come to all partitions.
_SOMETIMES = {
    "load__payload", "mem__response__payload", "flow__activation", "simt__activation", "lsu_ready", "event",
    "release__warp", "release__register", "release_load__warp", "release_load__register",
    # Addresses and data of memory ports.
    "port__addr", "$signature__addr", "$signature__data",
    *(f"simt__{name}" for name in ("result", "redirect", "target", "waits", "ended", "fault", "cause")),
    *(f"csr__{name}" for name in ("value", "add_lane", "unknown", "region")),
}

#: The same of answers of the arithmetic units, if these are shared.
_OF_SHARED_UNITS = {"result", "raised", "write__value__data"}


def ports(component: Any, flow: wiring.Flow) -> list[Value]:
    """The inputs or outputs of a component."""
    return [Value.cast(value) for _, member, value in component.signature.flatten(component) if member.flow is flow]


class Partition:
    """A partition of a :class:`Machine`: ``front``, ``issue`` and ``unit`` (of control) are its components.

    ``own``: its components that are cut out, by name. ``memories``: the ports of its memories, which are cut out too.
    ``turn``: whether it has the turn of the LSU.
    """

    def __init__(self, machine: Machine, number: int) -> None:
        self._machine, self.number = machine, number
        inside = machine.inside
        self._paths = {"front end": named("frontend", number), "issue stage": named("issue", number),
                       "control unit": f"control.{named('unit', number)}"}
        self.front, self.issue, self.unit = (inside.component(path) for path in self._paths.values())
        self.turn = self.issue.share.turn[Unit.LSU.value]
        front, issue = named("frontend", number), named("issue", number)
        paths = {"I-cache": f"{front}.fetch.store", "registers": f"{issue}.operands.registers"}
        if not shares_units(machine.config):
            paths["units"] = named("compute", number)
        if machine.config.learns:
            paths["predictors"] = f"{front}.fetch.predictors"
        self.own = {name: machine.cut(path) for name, path in paths.items()}
        self.memories = [memory for path in self._paths.values() for memory in cut_memories(inside.part(path), "")]
        reads = [port for _, memory in self.memories for port in memory._read_ports]
        if any(port._domain != "comb" for port in reads):
            raise LookupError("the proofs know only memories of a partition that are read in the cycle of the address")
        machine.free += [port._data for port in reads]

    def signals(self) -> Iterator[tuple[str, list[Signal]]]:
        """Yield each of its modules with the signals that it drives, and its inputs, but for those of _SOMETIMES."""
        for name, path in self._paths.items():
            yield f"inputs of its {name}", self._claimed(ports(self._machine.inside.component(path), wiring.In))
            for place, driven in _driven(self._machine.inside.part(path), ""):
                yield f"signals of its {name}{place}", self._claimed(driven)

    def _claimed(self, signals: list[Any]) -> list[Signal]:
        left_out = _SOMETIMES | (_OF_SHARED_UNITS if shares_units(self._machine.config) else set())
        return [signal for signal in signals if signal.name not in left_out]

    def gets(self) -> list[Value]:
        """What its own parts that are cut out give it."""
        return [value for part in self.own.values() for value in ports(part, wiring.Out)]

    def owned(self, mask: Value) -> Value:
        """The bits of its warps in a mask of the SM: w is a warp of partition w mod ``schedulers``."""
        return Cat(Value.cast(mask)[self.number::self._machine.config.schedulers])

    def global_warp(self, warp: Value) -> Value:
        """The SM's number of a warp of the partition."""
        return warp * self._machine.config.schedulers + self.number

    def loads(self) -> tuple[Value, Any]:
        """Whether the LSU has loaded values for one of its warps, and these."""
        values = self._machine.lsu.wb
        return values.valid & (values.payload.warp % self._machine.config.schedulers == self.number), values.payload

    def answers(self) -> tuple[Value, Any]:
        """Whether memory answers its I-cache, and the answer."""
        answer, count = self._machine.sm.mem.resp, self._machine.config.schedulers
        tag = answer.payload.tag
        return answer.valid & ~tag[-1] & (tag % count == self.number), answer.payload


class Machine:
    """An SM with several schedulers: ``lsu``, ``simt`` and ``csr`` are shared. ``free`` are its inputs.

    With one set of units for all partitions, these are cut out as a whole, or with ``units`` each of them.
    """

    def __init__(self, config: SmConfig, *, units: bool = False) -> None:
        self.config = config
        self.sm = Sm(config)
        self.inside = Internals(self.sm)
        self.free: list[Value] = ports(self.sm, wiring.In)
        self.lsu, self.simt, self.csr, _ = (self.cut(path) for path in _SHARED)
        self.faults, self.control = self.inside.component("faults"), self.inside.component("control")
        if shares_units(config):
            whole = self.inside.part("compute")
            for path in [f"compute.{name}" for _, name, _ in whole.subfragments] if units else ["compute"]:
                self.cut(path)
        self.partitions = [Partition(self, number) for number in range(config.schedulers)]

    def cut(self, path: str) -> Any:
        """Cut a component out; its outputs are free."""
        component = self.inside.component(path)
        self.inside.cut(path)
        self.free += ports(component, wiring.Out)
        return component

    def fetch_turn(self) -> Signal:
        """The partition whose I-cache may request a line in this cycle."""
        return self.inside.signal("arbiter", "turn")

    def turns(self) -> list[Signal]:
        """The registers of the turns, which belong to no partition."""
        parts = [self.inside.part(path) for path in ("sharing", "sharing.turns")]
        return [*(each for part in parts for each in part.statements["sync"]._lhs_signals()), self.fetch_turn()]


def _driven(fragment: Any, path: str) -> Iterator[tuple[str, list[Signal]]]:
    """Yield each module, by its path, with the signals that it drives."""
    if driven := [signal for statements in fragment.statements.values() for signal in statements._lhs_signals()]:
        yield path, driven
    for part, name, _ in fragment.subfragments:
        yield from _driven(part, f"{path}.{name}")


def cut_memories(fragment: Any, path: str) -> list[tuple[str, Any]]:
    """Remove every memory below a module, and return them by their paths."""
    found = [(f"{path}.{name}", part) for part, name, _ in fragment.subfragments if isinstance(part, MemoryInstance)]
    fragment.subfragments[:] = [each for each in fragment.subfragments if not isinstance(each[0], MemoryInstance)]
    for part, name, _ in fragment.subfragments:
        found += cut_memories(part, f"{path}.{name}")
    return found
