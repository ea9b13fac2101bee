"""One rank of DRAM: the open row of each bank, and the first clock in which each command is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .mapping import BANKS, BANKS_PER_GROUP, GROUPS
from .timing import DramTiming

__all__ = ["ALL_BANKS", "CLOSED", "Bank", "Command", "Device", "Group"]

#: The row of a bank without an open row.
CLOSED = -1
#: The bank of a command for the whole rank.
ALL_BANKS = -1
_LONG_AGO = -(1 << 40)


class Command(NamedTuple):
    """A command on the bus in ``clock``.

    ``kind``: ACT, PRE, RD, WR, RDA and WRA (with auto-precharge) of a bank; PREA (all banks) and REF, whose ``bank`` is
    :data:`ALL_BANKS`. ``row`` is set for ACT, ``column`` for reads and writes; otherwise they are 0.
    """

    clock: int
    kind: str
    bank: int
    row: int
    column: int


class Group:
    """A bank group: the first clock of each next command under the long (same group) timing constraints."""

    __slots__ = ("act_from", "read_from", "write_from")

    def __init__(self) -> None:
        self.act_from = self.read_from = self.write_from = 0


class Bank:
    """The state of one bank: closed, or open with ``row``, and the first clock of each next command."""

    __slots__ = ("act_from", "column_from", "group", "number", "precharge_from", "row")

    def __init__(self, number: int, group: Group) -> None:
        self.number = number
        self.group = group
        self.row = CLOSED
        self.act_from = self.column_from = self.precharge_from = 0


class Device:
    """The rank. A command method takes the clock of the command, and does not check that the command is allowed.

    ``observer`` is called with every command, in the order of clocks.
    """

    def __init__(self, timing: DramTiming, observer: Callable[[Command], None] | None) -> None:
        self.timing = timing
        self.observer = observer
        self.groups = [Group() for _ in range(GROUPS)]
        self.banks = [Bank(number, self.groups[number // BANKS_PER_GROUP]) for number in range(BANKS)]
        self.act_from = self.read_from = self.write_from = 0
        #: The clocks of the last four ACTs, oldest first.
        self._activations = [_LONG_AGO] * 4

    def _emit(self, clock: int, kind: str, bank: int, row: int = 0, column: int = 0) -> None:
        if self.observer is not None:
            self.observer(Command(clock, kind, bank, row, column))

    def activate(self, clock: int, bank: Bank, row: int) -> None:
        """Issue ACT."""
        timing = self.timing
        bank.row = row
        bank.column_from = clock + timing.rcd
        bank.precharge_from = clock + timing.ras
        bank.act_from = clock + timing.rc
        bank.group.act_from = clock + timing.rrd_l
        activations = self._activations
        activations.append(clock)
        del activations[0]
        self.act_from = max(clock + timing.rrd_s, activations[0] + timing.faw)
        self._emit(clock, "ACT", bank.number, row)

    def precharge(self, clock: int, bank: Bank) -> None:
        """Issue PRE to an open bank."""
        bank.row = CLOSED
        bank.act_from = max(bank.act_from, clock + self.timing.rp)
        self._emit(clock, "PRE", bank.number)

    def read(self, clock: int, bank: Bank, column: int) -> int:
        """Issue RD; return the clock after its last data."""
        timing = self.timing
        bank.precharge_from = max(bank.precharge_from, clock + timing.rtp)
        bank.group.read_from = max(bank.group.read_from, clock + timing.ccd_l)
        self.read_from = max(self.read_from, clock + timing.ccd_s)
        self.write_from = max(self.write_from, clock + timing.read_to_write)
        self._emit(clock, "RD", bank.number, 0, column)
        return clock + timing.read_latency

    def write(self, clock: int, bank: Bank, column: int) -> int:
        """Issue WR; return the clock after its last data."""
        timing = self.timing
        end = clock + timing.write_latency
        bank.precharge_from = max(bank.precharge_from, end + timing.wr)
        bank.group.read_from = end + timing.wtr_l
        bank.group.write_from = clock + timing.ccd_l
        self.read_from = end + timing.wtr_s
        self.write_from = max(self.write_from, clock + timing.ccd_s)
        self._emit(clock, "WR", bank.number, 0, column)
        return end

    def refresh(self, clock: int) -> int:
        """Close every bank as soon as possible from ``clock`` on, and refresh; return the clock of REF."""
        timing = self.timing
        opened = [bank.precharge_from for bank in self.banks if bank.row != CLOSED]
        if opened:
            clock = max(clock, *opened)
            self._emit(clock, "PREA", ALL_BANKS)
            clock += timing.rp
        # act_from includes tRP after a PRE, and tRC.
        clock = max(clock, *(bank.act_from for bank in self.banks))
        self._emit(clock, "REF", ALL_BANKS)
        for bank in self.banks:
            bank.row = CLOSED
            bank.act_from = clock + timing.rfc
        return clock
