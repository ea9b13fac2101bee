"""What a command wrote, line by line."""


def only_line(text):
    """The one line of ``text``."""
    (line,) = text.splitlines()
    return line
