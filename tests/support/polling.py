"""Waiting for other processes."""

import time


def wait_until(condition, what):
    """Wait up to a minute until ``condition()`` is true, and return what it gave then.

    The machine may be busy, and what is killed is not gone at once.
    """
    limit = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < limit, f"not within a minute: {what}"
        time.sleep(0.01)
    return found
