"""Names of functions as their authors wrote them."""

from __future__ import annotations

__all__ = ["readable"]


def readable(name: str) -> str:
    """Return a mangled C++ name as in the source, with its types; any other or damaged name unchanged.

    Without a C++ library on the computer, every name is returned unchanged.
    """
    if not name.startswith("_Z"):
        return name
    import cxxfilt  # here, since it looks for the C++ library of this computer

    try:
        return cxxfilt.demangle(name)
    except cxxfilt.Error:
        return name
