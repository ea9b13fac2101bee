"""One Verilog module for many identical parts: a lane is elaborated once, however many threads there are."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from typing import Any

from amaranth.back import verilog
from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal, Value
from amaranth.lib import wiring

__all__ = ["SharedModules", "share", "to_verilog"]

#: Where Amaranth looks for the program that writes its Verilog.
_YOSYS = "AMARANTH_USE_YOSYS"


@contextlib.contextmanager
def _own_yosys() -> Iterator[None]:
    before = os.environ.get(_YOSYS)
    os.environ[_YOSYS] = "builtin"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_YOSYS]
        else:
            os.environ[_YOSYS] = before


def to_verilog(component: wiring.Component, *, name: str, platform: object) -> str:
    """The Verilog of ``component`` as module ``name``, by the wheel's yosys.

    Amaranth would prefer one that is installed, of whatever version: the same sources would give other bytes.
    """
    with _own_yosys():
        text: str = verilog.convert(
            component, name=name, platform=platform, emit_src=False, strip_internal_attrs=True
        )
    return text


class SharedModules:
    """A platform that makes a module of its own of each part that :func:`share` adds.

    Elaborate the design with it, then put :attr:`text` beside the design's own Verilog. Parts may share parts.

    Parameters
    ----------
    prefix : str
        The modules are called ``<prefix>_<class>``, with a number behind it from the second set of arguments on.
    """

    def __init__(self, *, prefix: str) -> None:
        self._prefix = prefix
        #: By class and arguments: the module's name, its port names and the signature of the part.
        self._modules: dict[tuple, tuple[str, list[str], wiring.Signature]] = {}
        self._texts: list[str] = []

    @property
    def text(self) -> str:
        """The Verilog of all shared modules, in the order of their first use."""
        return "".join(self._texts)

    def instance(self, name: str, part: type[wiring.Component], arguments: dict[str, Any]) -> tuple[Any, Instance]:
        """An interface with the ports of ``part(**arguments)``, its signals called ``name``__.., and the instance."""
        key = (part, *sorted(arguments.items()))
        if key not in self._modules:
            self._modules[key] = self._make(part, arguments)
        module, names, signature = self._modules[key]
        interface = signature.create(path=(name,))
        domain = {"clk": ClockSignal(), "rst": ResetSignal()}
        ports = [("i", port, domain[port]) for port in domain if port in names]
        for path, member, value in signature.flatten(interface):
            is_input = member.flow is wiring.In  # type: ignore[attr-defined]  # the stubs take a member for its flow
            ports.append(("i" if is_input else "o", "__".join(map(str, path)), Value.cast(value)))
        return interface, Instance(module, *ports)

    def _make(self, part: type[wiring.Component], arguments: dict[str, Any]) -> tuple[str, list[str], wiring.Signature]:
        words = re.findall("[A-Z][a-z0-9]*", part.__name__)
        name = "_".join([self._prefix, *(word.lower() for word in words)])
        same = sum(key[0] is part for key in self._modules)
        if same:
            name = f"{name}_{same + 1}"
        component = part(**arguments)
        text = to_verilog(component, name=name, platform=self)
        header = re.search(rf"^module {re.escape(name)}\(([^)]*)\);", text, re.MULTILINE)
        assert header is not None, f"{name} has no header"
        self._texts.append(text)
        return name, [port.strip() for port in header[1].split(",")], component.signature


def share(m: Module, platform: object, name: str, part: type[wiring.Component], **arguments: Any) -> Any:
    """Adds ``part(**arguments)`` to ``m`` as submodule ``name``; returns an object with its ports.

    With a platform :class:`SharedModules` all parts of equal arguments are instances of one module, elaborated once;
    with any other the part is an ordinary submodule. ``arguments`` must be hashable. The part lives in domain sync.
    """
    if isinstance(platform, SharedModules):
        interface, m.submodules[name] = platform.instance(name, part, arguments)
        return interface
    m.submodules[name] = component = part(**arguments)
    return component
