"""What commands write: files, folders, tables."""
