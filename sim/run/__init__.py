"""One run on the simulated hardware."""
