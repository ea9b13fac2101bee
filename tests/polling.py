"""Waiting for other processes."""

import time


def wait_until(condition, what):
    """Wait up to a minute: the machine may be busy, and what is killed is not gone at once."""
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit, f"not within a minute: {what}"
        time.sleep(0.01)
