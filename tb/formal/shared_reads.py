"""Makes one elaborated design read the signals of another in place of its own."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Signal, Value
from amaranth.hdl._ast import Assign, Concat, Operator, Part, SignalDict, Slice, SwitchValue
from amaranth.hdl._xfrm import StatementTransformer, ValueTransformer

__all__ = ["read_instead"]


class _Reads(ValueTransformer, StatementTransformer):
    """Replaces signals wherever a statement reads them; what it assigns to stays."""

    def __init__(self, instead: SignalDict) -> None:
        self._instead = instead

    def on_Signal(self, value: Signal) -> Value:
        return self._instead[value] if value in self._instead else value

    def on_Assign(self, stmt: Assign) -> Assign:
        return Assign(self._target(stmt.lhs), self.on_value(stmt.rhs))

    def _target(self, value: Any) -> Any:
        """The target of an assignment, in which only indices are read."""
        if isinstance(value, Slice):
            return Slice(self._target(value.value), value.start, value.stop)
        # The stubs know none of the fields of what follows.
        its: Any = value
        if isinstance(value, Part):
            return Part(self._target(its.value), self.on_value(its.offset), its.width, its.stride)
        if isinstance(value, Concat):
            return Concat(self._target(part) for part in its.parts)
        if isinstance(value, SwitchValue):
            return SwitchValue(self.on_value(its.test), [(when, self._target(target)) for when, target in its.cases])
        if isinstance(value, Operator):
            return Operator(its.operator, [self._target(operand) for operand in its.operands])
        return value


def read_instead(fragment: Any, instead: SignalDict) -> None:
    """Let every statement of a design, an elaborated fragment, read other signals: ``instead`` of its own."""
    reads = _Reads(instead)
    for domain, statements in list(fragment.statements.items()):
        fragment.statements[domain] = reads.on_statement(statements)
    for part, _, _ in fragment.subfragments:
        read_instead(part, instead)
