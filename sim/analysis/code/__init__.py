"""A program's instructions as the analysis reads them, and what they do to intervals."""
