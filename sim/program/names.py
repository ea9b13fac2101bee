"""Names of functions as their authors wrote them."""

from __future__ import annotations

__all__ = ["readable"]


def readable(name: str) -> str:
    """A mangled C++ name as it stands in the source, with its types; any other name, and one that is damaged, as it is.

    It stays as it is on a computer without a C++ library, too.
    """
    if not name.startswith("_Z"):
        return name
    import cxxfilt  # here, since it looks for the C++ library of this computer

    try:
        return cxxfilt.demangle(name)
    except cxxfilt.Error:
        return name
