"""The warp policies as plain Python, written from policies.md."""

__all__ = ["REFERENCE", "ReferenceScheduler", "pick_gtlo", "pick_gtlrr", "pick_lrr"]


def pick_lrr(last: int, eligible: set[int], warps: int) -> int | None:
    """First of last+1, last+2, ... (mod W) in E."""
    for step in range(1, warps + 1):
        if (last + step) % warps in eligible:
            return (last + step) % warps
    return None


def pick_gtlrr(last: int, eligible: set[int], warps: int) -> int | None:
    """Last if last in E, else as lrr."""
    return last if last in eligible else pick_lrr(last, eligible, warps)


def pick_gtlo(last: int, eligible: set[int], warps: int) -> int | None:
    """Last if last in E, else lowest number in E."""
    return last if last in eligible else min(eligible, default=None)


REFERENCE = {"lrr": pick_lrr, "gtlrr": pick_gtlrr, "gtlo": pick_gtlo}


class ReferenceScheduler:
    """One policy with its state; ``last`` = W-1 before the first selection."""

    def __init__(self, warps: int) -> None:
        self.warps = warps
        self.last = warps - 1

    def pick(self, policy: str, eligible: set[int]) -> int | None:
        return REFERENCE[policy](self.last, eligible, self.warps)

    def update(self, picked: int | None) -> None:
        if picked is not None:
            self.last = picked
