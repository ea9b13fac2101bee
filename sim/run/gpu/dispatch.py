"""The blocks that the SMs of a GPU may get from its unit for dispatch (docs/gpu.md, "Dispatch")."""

from __future__ import annotations

from metronome.hdl.gpu.config import NO_BLOCK, Dispatch, GpuConfig

__all__ = ["Dispatched"]


class Dispatched:
    """The blocks of the last launch, and those that were handed out. Nothing is left before the first launch.

    A load is *noted* when it is issued, in the order of its SM, and *judged* when its answer is written. Each SM
    performs its loads in issue order, so with static dispatch each has one right answer. With dynamic dispatch the
    order between the SMs is that of the hardware: each block goes to one load, and block i is not handed out before
    i + 1 loads were issued.
    """

    def __init__(self, gpu: GpuConfig) -> None:
        self._gpu = gpu
        self.launch(0)

    def launch(self, blocks: int) -> None:
        """Begin a grid."""
        self._blocks = blocks
        #: With static dispatch: the next block of each SM.
        self._next = list(range(self._gpu.sms))
        #: With dynamic dispatch: the blocks that loads have had.
        self._handed: set[int] = set()
        #: Loads that were issued, those without an answer, and those that were told that no block is left.
        self._noted = self._silent = self._told = 0

    def note(self, sm: int, *, answered: bool) -> int | None:
        """Note a load of an SM; return the right answer, or None if there may be several.

        ``answered``: it writes a register, and so will be judged.
        """
        self._noted += 1
        self._silent += not answered
        if self._gpu.dispatch is Dispatch.DYNAMIC:
            return None
        number = self._next[sm]
        if number >= self._blocks:
            return NO_BLOCK
        self._next[sm] += self._gpu.sms
        return number

    def judge(self, answer: int) -> str | None:
        """Judge an answer that may be one of several; return what it should be, in words, or None if it may be this."""
        if answer == NO_BLOCK:
            self._told += 1
            most = self._noted - self._told
            return None if most >= self._blocks else f"a block, of {self._blocks}: {most} at most are taken"
        if answer >= min(self._blocks, self._noted):
            return f"a block below {min(self._blocks, self._noted)}, or none"
        if answer in self._handed:
            return "a block that no load has had"
        self._handed.add(answer)
        return None

    def lost(self) -> str | None:
        """When all loads were judged: the blocks that no load has had though one was told that none is left."""
        if self._told and len(self._handed) + self._silent < self._blocks:
            first = next(block for block in range(self._blocks) if block not in self._handed)
            return f"block {first} of {self._blocks} was handed to no SM"
        return None
