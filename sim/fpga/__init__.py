"""Area, clock rate, and boards."""
