"""Address mapping: the bank group, bank, row and column of a line."""

from __future__ import annotations

from metronome.hdl.config import LINE_NUMBER_BITS

__all__ = ["BANKS", "BANKS_PER_GROUP", "BANK_HASHES", "COLUMNS", "DEFAULT_HASH", "DEFAULT_MAPPING", "GROUPS",
           "AddressMapping"]

GROUPS = 4
BANKS_PER_GROUP = 4
BANKS = GROUPS * BANKS_PER_GROUP
#: Lines in a row: a row has 1024 columns of 8 bytes (8 KiB), and a line is a burst of 8.
COLUMNS = 128
_BITS = {"group": 2, "bank": 2, "column": 7, "row": LINE_NUMBER_BITS - 2 - 2 - 7}
DEFAULT_MAPPING = "row bank column group"
BANK_HASHES = ("xor", "none")
DEFAULT_HASH = "xor"
#: Bits of a bank's number, including those of its group.
_BANK_BITS = (BANKS - 1).bit_length()


class AddressMapping:
    """A fixed assignment of address bits.

    ``order`` names the fields of a line number from the most significant to the least. The default puts the group
    lowest, so that consecutive lines alternate between bank groups (tCCD_S instead of tCCD_L), and the lines of 32 KiB
    use four open rows. ``"row bank group column"`` is ramulator2's RoBaRaCoCh.

    ``bank_hash``: ``"xor"`` combines the bank's number (group and bank) by exclusive or with every four bits of the
    row, from the least significant on. Lines a power of two apart, such as the stacks of the warps, are then in
    different banks, and lines of one row stay together (Zhang 2000, permutation-based page interleaving).
    ``"none"`` takes the bits as they are.
    """

    def __init__(self, order: str = DEFAULT_MAPPING, bank_hash: str = DEFAULT_HASH) -> None:
        names = order.split()
        if sorted(names) != sorted(_BITS):
            raise ValueError(f"the address mapping must name each of {', '.join(_BITS)} once, not {order!r}")
        if bank_hash not in BANK_HASHES:
            raise ValueError(f"bank_hash must be one of {', '.join(BANK_HASHES)}, not {bank_hash!r}")
        self.order = order
        self._hashed = bank_hash == "xor"
        shift = 0
        shifts = {}
        for name in reversed(names):
            shifts[name] = shift
            shift += _BITS[name]
        self._group, self._bank = shifts["group"], shifts["bank"]
        self._row, self._column = shifts["row"], shifts["column"]
        self._row_mask = (1 << _BITS["row"]) - 1

    def locate(self, line: int) -> tuple[int, int, int]:
        """Return the bank (group * BANKS_PER_GROUP + bank in the group), row and column of ``line``."""
        bank = (line >> self._group & 3) << 2 | line >> self._bank & 3
        row = line >> self._row & self._row_mask
        if self._hashed:
            for shift in range(0, _BITS["row"], _BANK_BITS):
                bank ^= row >> shift & BANKS - 1
        return bank, row, line >> self._column & COLUMNS - 1
