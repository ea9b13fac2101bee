"""Entry point of ``metronome``: Ctrl-C while the rest is imported ends it with one line, not a traceback.

For this reason it imports almost nothing itself.
"""

from __future__ import annotations

import gc
import signal
import sys

from .process.interrupt import end_at_once

__all__ = ["main"]

#: Objects created before Python collects garbage: imports create a hundred thousand, none of them garbage.
_BETWEEN_COLLECTIONS = 150_000


def main() -> int:
    """Call :func:`scripts.cli.main`, which handles the signal while it runs."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)
    gc.set_threshold(_BETWEEN_COLLECTIONS)
    from .cli import main as run

    try:
        return run()
    finally:
        gc.freeze()  # the process ends now, so there is no need to search the remaining objects


if __name__ == "__main__":
    sys.exit(main())
