"""Output of commands: files, folders, tables."""
