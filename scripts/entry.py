"""Where the command ``metronome`` starts: a Ctrl-C while the rest is imported ends it with a line, not a traceback.

So it imports next to nothing itself.
"""

from __future__ import annotations

import gc
import signal
import sys

from .process.interrupt import end_at_once

__all__ = ["main"]

#: Objects that are made before Python looks for garbage: imports make a hundred thousand, and none of it is garbage.
_BETWEEN_COLLECTIONS = 150_000


def main() -> int:
    """See :func:`scripts.cli.main`, which takes the signal over for as long as it runs."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)
    gc.set_threshold(_BETWEEN_COLLECTIONS)
    from .cli import main as run

    try:
        return run()
    finally:
        gc.freeze()  # what is left ends with the process: no need to look through it first


if __name__ == "__main__":
    sys.exit(main())
