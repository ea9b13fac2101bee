"""The host's side of a board: programs are loaded, started and checked over its serial line; and bitstreams."""
