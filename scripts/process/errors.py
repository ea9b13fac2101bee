"""The error that a user can mend, and the exit statuses of every subcommand (docs/command-line.md)."""

import enum

__all__ = ["Exit", "UsageError"]


class Exit(enum.IntEnum):
    """What the exit status says."""

    PASSED = 0
    #: The kernel's own check failed, or the machine differs from the golden model, or an area has grown.
    CHECK_FAILED = 1
    #: Bad use or bad input.
    USAGE = 2
    #: The machine stopped at a fault.
    FAULT = 3
    #: The cycle limit was reached, or no warp can ever go on.
    CYCLE_LIMIT = 4
    #: Placing and routing has given no clock rate: it did not end, or the design does not fit.
    NOT_ROUTED = 5
    #: The clock rate that --freq asks for was not reached.
    TOO_SLOW = 6
    #: A defect of this program (sysexits.h, EX_SOFTWARE).
    INTERNAL = 70
    #: As a shell reports a process that was interrupted.
    INTERRUPTED = 130
    #: As a shell reports a process whose reader has gone (128 + SIGPIPE).
    BROKEN_PIPE = 141
    #: As a shell reports a process that was told to end (128 + SIGTERM).
    TERMINATED = 143


class UsageError(Exception):
    """Bad use or bad input. The text is one line: what is wrong, where, and what to do."""
