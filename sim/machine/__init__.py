"""The machine's settings by name, and its parts in plain Python (policies, memory models, golden model)."""
