"""Flow facts from a file in FFX, the XML format of OTAWA: bounds of loops, and code that is never executed.

These elements of FFX (sections 5 to 8) are read: ``loop`` with ``maxcount`` and ``totalcount``, and
``executed="false"`` of a ``block``, ``loop`` or ``function``. A place is an ``address``, a ``label`` with an
``offset``, an ``offset`` from the enclosing function, or a ``source`` with a ``line``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from ...program.elf import ElfImage
from .facts import FactError, Rule

__all__ = ["read_ffx"]

_PLACES = ("loop", "block", "function")
_MOST = 1 << 32


class _Reader:
    """Reads one file for one program."""

    def __init__(self, path: Path, image: ElfImage) -> None:
        self._path, self._image = path, image
        self.rules: list[Rule] = []
        self.ignored: list[str] = []

    def read(self, element: ElementTree.Element, within: int | None, source: str | None) -> None:
        """Read the facts inside an element, which lies in the function at ``within``."""
        for child in element:
            if child.tag not in _PLACES:
                self.ignored.append(f"{self._path}: <{child.tag}> is ignored: it does not describe a loop")
                continue
            own = child.get("source", source)
            if child.tag == "function":
                entry = self._address(child, None)
                if entry is None:
                    raise self._error(child, "it names no function: give a name, label or address")
                if child.get("executed") == "false":
                    self.rules.append(Rule(text=self._text(child), most=None, address=entry, within=entry))
                self.read(child, entry, own)
            else:
                self._place(child, within, own)
                self.read(child, within, own)

    def _place(self, element: ElementTree.Element, within: int | None, source: str | None) -> None:
        address = self._address(element, within)
        line = element.get("line")
        where = None
        if address is None and line is not None and source is not None:
            where = f"{self._source(source)}:{self._number(element, 'line', line)}"
        most = self._count(element)
        never = element.get("executed") == "false"
        if most is None and not never:
            if element.tag == "loop" and not len(element):
                self.ignored.append(f"{self._path}: {self._text(element)} is ignored: it has no maxcount")
            return
        if address is None and where is None:
            raise self._error(element, "it has no place: give an address, a label, an offset, or a source and a line")
        self.rules.append(Rule(
            text=self._text(element), most=None if never else most, address=address, line=where, within=within
        ))

    def _source(self, source: str) -> str:
        """Return the path of a source file to search for; resolve it unless it is only the end of a path."""
        path = os.path.normpath(source)
        if os.path.isabs(path):
            return os.path.realpath(path)
        if path.startswith(".."):
            beside = self._path.parent / path
            return os.path.realpath(beside if beside.exists() else path)
        return path

    def _count(self, element: ElementTree.Element) -> int | None:
        """Return the most iterations of a loop for each entry: maxcount, or totalcount if lower."""
        counts = []
        for name in ("maxcount", "totalcount") if element.tag == "loop" else ():
            text = element.get(name)
            if text is not None and text != "NOCOMP":
                count = self._number(element, name, text)
                if not 0 <= count < _MOST:
                    raise self._error(element, f"{name} must be between 0 and {_MOST - 1}")
                counts.append(count)
        return min(counts, default=None)

    def _address(self, element: ElementTree.Element, within: int | None) -> int | None:
        text, label = element.get("address"), element.get("label")
        if element.tag == "function" and label is None:
            label = element.get("name")
        if text is not None:
            return self._number(element, "address", text)
        offset = self._number(element, "offset", element.get("offset", "0"))
        if label is not None:
            place = self._image.symbols.get(label)
            if place is None:
                raise self._error(element, f"the program has no symbol {label!r}")
            return place[0] + offset
        if element.get("offset") is None:
            return None
        if within is None:
            raise self._error(element, "an offset counts from a function, but the element is in none")
        return within + offset

    def _number(self, element: ElementTree.Element, name: str, text: str) -> int:
        """Parse a decimal number, an octal one with prefix 0, or a hexadecimal one with prefix 0x."""
        digits = text.strip().removeprefix("-")
        base = 16 if digits[:2].lower() == "0x" else 8 if digits[:1] == "0" and digits != "0" else 10
        try:
            return int(text, base)
        except ValueError:
            raise self._error(element, f"{name} must be a number, not {text!r}") from None

    def _error(self, element: ElementTree.Element, what: str) -> FactError:
        return FactError(f"{self._path}: {self._text(element)}: {what}")

    @staticmethod
    def _text(element: ElementTree.Element) -> str:
        return f"<{' '.join([element.tag, *(f'{name}={value!r}' for name, value in _shown(element.attrib))])}>"


def _shown(attributes: Mapping[str, str]) -> list[tuple[str, str]]:
    names = ("name", "label", "offset", "address", "source", "line", "maxcount", "totalcount", "executed")
    return [(name, attributes[name]) for name in names if name in attributes]


def read_ffx(path: Path, image: ElfImage) -> tuple[list[Rule], list[str]]:
    """Read the facts in a file; return them and a line for each ignored element.

    Raises
    ------
    FactError
        If the file is not FFX, or does not fit the program.
    """
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except OSError as error:
        raise FactError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ElementTree.ParseError as error:
        raise FactError(f"{path}: not XML: {error}") from None
    if root.tag != "flowfacts":
        raise FactError(f"{path}: not FFX: its root element is <{root.tag}>, not <flowfacts>")
    reader = _Reader(path, image)
    reader.read(root, None, None)
    return reader.rules, reader.ignored
