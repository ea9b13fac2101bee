"""Files that ``metronome new --policy`` copies."""
