"""System requirements that PyPI cannot provide: checked before anything is installed or built.

`make` runs this file as a plain script with any Python that it finds. It therefore uses only the standard library,
and no syntax newer than Python 3.7.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig

__all__ = ["MINIMUM_PYTHON", "NEWEST_PYTHON", "libpython", "missing_for_setup", "missing_for_simulation"]

#: The oldest Python that the code runs on.
MINIMUM_PYTHON = (3, 11)
#: The newest for which PyPI has all dependencies, and on which the tests have run (pyproject.toml says the same).
NEWEST_PYTHON = (3, 13)

#: Program, its purpose, its Debian package.
_BUILD_TOOLS = (
    ("make", "runs the builds of Verilator", "make"),
    ("perl", "starts Verilator", "perl"),
    ("g++", "compiles Verilator's output", "g++"),
)


def _message(what: str, purpose: str, package: str) -> str:
    return f"{what} is missing (it {purpose}): install the Debian package {package}, e.g. apt-get install {package}"


def _version() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def _library_name() -> str:
    """The file name of this Python's shared library, even if it was built without one."""
    name = sysconfig.get_config_var("INSTSONAME") or ""
    return name if ".so" in name else f"libpython{_version()}{sys.abiflags}.so.1.0"


def libpython() -> str | None:
    """The path of this Python's shared library, which runs cocotb inside a simulation; None if there is none.

    Python's own settings are not reliable here. On Debian, they name a library that comes in a separate package. With
    uv, they name a folder of the machine that compiled Python.
    """
    name = _library_name()
    folders = [sysconfig.get_config_var("LIBDIR"), os.path.join(sys.base_prefix, "lib"),
               os.path.join(sys.base_prefix, "lib64"), sysconfig.get_config_var("LIBPL")]
    multiarch = sysconfig.get_config_var("MULTIARCH")
    for folder in filter(None, folders):
        for path in (os.path.join(folder, name), os.path.join(folder, multiarch or "", name)):
            if os.path.isfile(path):
                return os.path.realpath(path)
    return _loaded(name)


def _loaded(name: str) -> str | None:
    """The path from which the dynamic linker loads the library ``name``, if it has exactly this Python's version."""
    try:
        import ctypes

        library = ctypes.CDLL(name)
        library.Py_GetVersion.restype = ctypes.c_char_p
        if library.Py_GetVersion().decode().split()[0] != sys.version.split()[0]:
            return None
        with open("/proc/self/maps") as maps:
            paths = [line.split(None, 5)[-1].strip() for line in maps]
    except (ImportError, OSError, AttributeError):
        return None
    return next((path for path in paths if os.path.basename(path) == os.path.basename(name)), None)


def _without_library() -> str:
    """The message for a Python without a shared library."""
    what = f"the shared library of Python ({_library_name()})"
    purpose = "runs cocotb inside the simulation"
    if sys.base_prefix == "/usr":
        return _message(what, purpose, f"libpython{_version()}")
    return (f"{what} is missing below {sys.base_prefix} (it {purpose}): use another Python, as in make"
            " PYTHON=/usr/bin/python3, or build this one with --enable-shared (pyenv: PYTHON_CONFIGURE_OPTS="
            f"--enable-shared pyenv install --force {sys.version.split()[0]})")


def missing_for_simulation() -> list[str]:
    """One line for each missing requirement of building and running a simulation."""
    lines = [_message(*tool) for tool in _BUILD_TOOLS if not shutil.which(tool[0])]
    return lines if libpython() else [*lines, _without_library()]


def _has_module(name: str) -> bool:
    try:
        __import__(name)
    except ImportError:
        return False
    return True


def missing_for_setup() -> list[str]:
    """As :func:`missing_for_simulation`, and also the requirements for a virtual environment with this Python."""
    if not MINIMUM_PYTHON <= sys.version_info[:2] <= NEWEST_PYTHON:
        wrong = "old" if sys.version_info[:2] < MINIMUM_PYTHON else "new"
        oldest, newest = (".".join(map(str, version)) for version in (MINIMUM_PYTHON, NEWEST_PYTHON))
        name_it = "or specify one: make PYTHON=/path/to/python"
        return [f"Python {_version()} is too {wrong}: install one from {oldest} to {newest}, {name_it}"]
    lines = missing_for_simulation()
    if not (_has_module("venv") and _has_module("ensurepip")):
        lines.append(_message("Python's venv module", "creates the virtual environment", f"python{_version()}-venv"))
    return lines


def main() -> int:
    """Print the missing requirements, one a line; return 2 if any is missing, else 0."""
    lines = missing_for_setup()
    for line in lines:
        print(f"metronome: {line}", file=sys.stderr)
    return 2 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
