"""The process of a command: errors, signals, standard output, progress, and the backend."""
