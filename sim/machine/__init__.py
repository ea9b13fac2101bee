"""The machine by name: settings, and its parts in plain Python (policies, memory models, golden model)."""
