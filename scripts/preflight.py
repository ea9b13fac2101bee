"""What the machine must bring along, because PyPI cannot: checked before anything is built.

Runs as a plain script under whatever Python `make` has found, so it uses nothing but the standard library, and no
syntax newer than Python 3.7.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig

__all__ = ["MINIMUM_PYTHON", "missing_for_build", "missing_for_setup"]

#: The oldest Python that the code runs on.
MINIMUM_PYTHON = (3, 11)

#: Program, what for, Debian package.
_BUILD_TOOLS = (
    ("make", "runs the builds of Verilator", "make"),
    ("perl", "starts Verilator", "perl"),
    ("g++", "compiles what Verilator writes", "g++"),
)


def _message(what: str, purpose: str, package: str) -> str:
    return f"{what} is missing (it {purpose}): install the Debian package {package}, e.g. apt-get install {package}"


def missing_for_build() -> list[str]:
    """One line for each missing program that a Verilator build needs; empty if all are there."""
    return [_message(*tool) for tool in _BUILD_TOOLS if not shutil.which(tool[0])]


def _has_module(name: str) -> bool:
    try:
        __import__(name)
    except ImportError:
        return False
    return True


def missing_for_setup() -> list[str]:
    """As :func:`missing_for_build`, with what the virtual environment needs of this Python."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if sys.version_info[:2] < MINIMUM_PYTHON:
        wanted = ".".join(map(str, MINIMUM_PYTHON))
        return [f"Python {version} is too old: install {wanted} or newer, or name one: make PYTHON=/path/to/python"]
    lines = missing_for_build()
    if not (_has_module("venv") and _has_module("ensurepip")):
        lines.append(_message("Python's venv module", "makes the virtual environment", f"python{version}-venv"))
    if not sysconfig.get_config_var("Py_ENABLE_SHARED"):
        package = f"libpython{version}"
        lines.append(_message("a shared libpython", "runs cocotb inside the simulation", package))
    return lines


def main() -> int:
    """Print what is missing, a line each; 2 if anything is, else 0."""
    lines = missing_for_setup()
    for line in lines:
        print(f"metronome: {line}", file=sys.stderr)
    return 2 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
