"""The error class for user errors, and the exit statuses of every subcommand (docs/command-line.md)."""

import enum

__all__ = ["Exit", "UsageError"]


class Exit(enum.IntEnum):
    """Exit statuses."""

    PASSED = 0
    #: The kernel's own check failed, or the machine differs from the golden model, or an area has grown.
    CHECK_FAILED = 1
    #: Bad use or bad input.
    USAGE = 2
    #: The machine stopped at a fault.
    FAULT = 3
    #: The cycle limit was reached, or no warp can ever continue.
    CYCLE_LIMIT = 4
    #: Placing and routing produced no clock rate: it did not end, or the design does not fit.
    NOT_ROUTED = 5
    #: The clock rate that --freq asks for was not reached.
    TOO_SLOW = 6
    #: A defect of this program (sysexits.h, EX_SOFTWARE).
    INTERNAL = 70
    #: The status that a shell reports for an interrupted process.
    INTERRUPTED = 130
    #: The status that a shell reports for a process whose reader has gone (128 + SIGPIPE).
    BROKEN_PIPE = 141
    #: The status that a shell reports for a terminated process (128 + SIGTERM).
    TERMINATED = 143


class UsageError(ValueError):
    """Bad use or bad input. The text is one line: the error, its place, and the remedy. A compiler's log may follow."""
