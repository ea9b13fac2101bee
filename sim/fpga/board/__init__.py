"""The host's side of a board: loads, starts and checks programs over its serial line, and makes bitstreams."""
