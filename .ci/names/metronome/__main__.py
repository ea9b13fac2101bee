"""``python -m metronome`` is the command ``metronome``."""

import sys

from .scripts.entry import main

if __name__ == "__main__":
    sys.exit(main())
