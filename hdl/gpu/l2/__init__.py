"""The L2 of a GPU: a cache between its SMs and memory."""
