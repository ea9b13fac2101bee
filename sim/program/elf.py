"""Program images: a small reader of RISC-V ELF32 executables, raw binaries and Vortex's images.

The header and segment checks are our own, so that every error message explains the problem in one line.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metronome.hdl.config import MemoryMap

from .names import readable
from .source_lines import Frame, SourceLines

__all__ = ["ElfImage", "ImageError", "Segment", "load_binary", "load_elf", "load_vxbin"]

_HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
_PROGRAM_HEADER = struct.Struct("<8I")
_SECTION_HEADER = struct.Struct("<10I")
_WORD = struct.Struct("<I")
_SYMBOL = struct.Struct("<IIIBBH")
#: The header of a .vxbin file.
_VXBIN = struct.Struct("<2Q")
_MACHINE_RISCV = 243
_TYPE_EXECUTABLE = 2
_LOAD = 1
_SYMBOL_TABLE = 2
_OBJECT = 1
_FUNCTION = 2
_FLAG_RVC = 0x1
#: Set for both the double and the quad float ABI.
_FLAG_WIDE_FLOAT_ABI = 0x4
_TYPES = {0: "no type", 1: "an object file, not linked", 3: "a shared object or position-independent", 4: "a core dump"}


class ImageError(ValueError):
    """A program image that cannot be loaded; one line with the problem, its place, and the remedy."""


@dataclass(frozen=True)
class Segment:
    """``data`` at ``address``, then zeros up to ``size`` bytes in all."""

    address: int
    data: bytes
    size: int

    @property
    def end(self) -> int:
        """One past the last byte in memory."""
        return self.address + self.size


@dataclass(frozen=True, kw_only=True)
class ElfImage:
    """A checked program image: segments in ascending order, inside memory, not overlapping."""

    path: Path
    entry: int
    segments: tuple[Segment, ...]
    #: name -> (address, size in bytes); the last global definition of a name wins.
    symbols: dict[str, tuple[int, int]] = field(default_factory=dict)
    #: (address, end, name) of every function, ascending.
    functions: tuple[tuple[int, int, str], ...] = ()
    #: (address, end, pc) of code that is not in the file: reports name the instruction at ``pc`` for it.
    stand_ins: tuple[tuple[int, int, int], ...] = ()
    #: The amount of zeroed memory (.bss) that the program expects after its last byte is unknown.
    raw: bool = False
    #: The whole file if it is an ELF, for the line table.
    content: bytes = field(default=b"", repr=False)

    @property
    def loaded(self) -> list[tuple[int, bytes, int]]:
        """(address, data, end) of each segment: all that a launch puts into memory, whatever the file is called."""
        return [(each.address, each.data, each.end) for each in self.segments]

    def patched(self, words: Mapping[int, int]) -> bytes:
        """The whole ELF file with other ``words`` at these addresses, which must be in a segment's data."""
        content = bytearray(self.content)
        reader = _Reader(self.path, self.content)
        header = reader.table(_HEADER, 0, 1, _HEADER.size, "header")[0]
        segments = reader.table(_PROGRAM_HEADER, header[5], header[10], header[9], "program header table")
        for address, word in words.items():
            offset = next(first + address - start for kind, first, start, _, size, *_ in segments
                          if kind == _LOAD and start <= address < start + size)
            _WORD.pack_into(content, offset, word)
        return bytes(content)

    def function_at(self, pc: int) -> str | None:
        """The function that contains ``pc``, by the name in its source, or None."""
        pc = self._loaded(pc)
        position = bisect.bisect_right(self.functions, pc, key=lambda entry: entry[0]) - 1
        if position < 0 or pc >= self.functions[position][1]:
            return None
        return readable(self.functions[position][2])

    def places_of(self, name: str) -> list[tuple[int, int]]:
        """(address, size in bytes) of every variable of this name: there may be several static ones."""
        if not self.content:
            return [self.symbols[name]] if name in self.symbols else []
        reader = _Reader(self.path, self.content)
        header = reader.table(_HEADER, 0, 1, _HEADER.size, "header")[0]
        sections = reader.table(_SECTION_HEADER, header[6], header[12], header[11], "section table")
        found = _symbols(reader, sections)
        return sorted({(address, size) for each, address, size, kind, _ in found if each == name and kind <= _OBJECT})

    def source_line(self, pc: int) -> str | None:
        """``file:line`` of the instruction at ``pc`` from the line table, or None without one that can be read.

        For code inlined from a header of the machine's interface, it is the line of the call.
        """
        return self._lines.at(self._loaded(pc))

    def frames_at(self, pc: int) -> tuple[Frame, ...]:
        """The functions that contain the instruction at ``pc``, with their lines, the outermost first.

        Without a line table, the function alone, with the pc in place of a line; empty if even that is unknown.
        """
        frames = self._lines.frames(self._loaded(pc))
        if frames and frames[0].function:
            return frames
        function = self.function_at(pc)
        if frames:
            return (frames[0]._replace(function=function or "?"), *frames[1:])
        return () if function is None else (Frame(function, f"{pc:#010x}"),)

    def _loaded(self, pc: int) -> int:
        """The pc in the file that the instruction at ``pc`` stands in for."""
        return next((place for first, end, place in self.stand_ins if first <= pc < end), pc)

    @functools.cached_property
    def _lines(self) -> SourceLines:
        return SourceLines(self.content)


@dataclass(frozen=True)
class _Reader:
    """Bounds-checked access to the bytes of one file."""

    path: Path
    content: bytes

    def fail(self, what: str) -> ImageError:
        return ImageError(f"{self.path}: {what}")

    def table(self, layout: struct.Struct, offset: int, count: int, stride: int, what: str) -> list[tuple[Any, ...]]:
        """``count`` records, ``stride`` bytes apart. Raises ImageError if they are not inside the file."""
        if count == 0:
            return []
        if stride < layout.size:
            raise self.fail(f"its {what} has entries of {stride} bytes instead of {layout.size}; the file is damaged")
        if offset + count * stride > len(self.content):
            raise self.fail(f"its {what} lies outside the file; the file is truncated or damaged")
        return [layout.unpack_from(self.content, offset + index * stride) for index in range(count)]


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ImageError(f"{path}: no such file") from None
    except OSError as error:
        raise ImageError(f"{path}: cannot be read: {error.strerror or error}") from None


def _check_header(reader: _Reader, header: tuple[Any, ...]) -> None:
    ident, kind, machine, flags = header[0], header[1], header[2], header[7]
    if ident[4] == 2:
        raise reader.fail("a 64-bit ELF; build it for riscv32")
    if ident[4] != 1:
        raise reader.fail(f"ELF class {ident[4]} is unknown; the file is damaged")
    if ident[5] != 1:
        raise reader.fail("a big-endian ELF; build it for little-endian riscv32")
    if machine != _MACHINE_RISCV:
        raise reader.fail(f"an ELF for machine {machine}, not RISC-V ({_MACHINE_RISCV}); build it for riscv32")
    if kind != _TYPE_EXECUTABLE:
        what = _TYPES.get(kind, f"of type {kind}")
        raise reader.fail(f"an ELF that is {what}, not an executable; link it to fixed addresses")
    if flags & _FLAG_RVC:
        raise reader.fail("contains compressed instructions; build it with -march=rv32imf, without c")
    if flags & _FLAG_WIDE_FLOAT_ABI:
        raise reader.fail("uses a floating-point ABI wider than single; build it with -mabi=ilp32f or ilp32")


def _segments(reader: _Reader, records: list[tuple[Any, ...]], memory_map: MemoryMap) -> tuple[Segment, ...]:
    segments = []
    for kind, offset, address, _, file_size, memory_size, _, _ in records:
        if kind != _LOAD or memory_size == 0:
            continue
        if file_size > memory_size:
            raise reader.fail(f"segment at {address:#010x} holds more bytes than it takes; the file is damaged")
        if offset + file_size > len(reader.content):
            raise reader.fail(f"segment at {address:#010x} lies outside the file; the file is truncated or damaged")
        data = reader.content[offset : offset + file_size]
        segments.append(Segment(address, data, memory_size))
    if not segments:
        raise reader.fail("nothing to load; link it with a loadable segment")
    return _checked(reader, segments, memory_map)


def _checked(reader: _Reader, segments: list[Segment], memory_map: MemoryMap) -> tuple[Segment, ...]:
    """The segments in ascending order. Raises ImageError if one is outside memory or two overlap."""
    ordered = sorted(segments, key=lambda segment: segment.address)
    for segment in ordered:
        if segment.address < memory_map.first or segment.end > memory_map.end:
            raise reader.fail(
                f"segment {segment.address:#010x}..{segment.end:#010x} is outside memory "
                f"({memory_map.first:#010x}..{memory_map.end:#010x}); link it to {memory_map.start:#010x}"
            )
    for lower, upper in itertools.pairwise(ordered):
        if upper.address < lower.end:
            raise reader.fail(f"segments at {lower.address:#010x} and {upper.address:#010x} overlap; link it again")
    return tuple(ordered)


def _symbols(reader: _Reader, sections: list[tuple[Any, ...]]) -> list[tuple[str, int, int, int, int]]:
    """(name, address, size, type, binding) of every defined, named symbol except the assembler's own."""
    found = []
    for section in sections:
        _, kind, _, _, offset, size, link, _, _, stride = section
        if kind != _SYMBOL_TABLE:
            continue
        if link >= len(sections):
            raise reader.fail("its symbol table names no string table; the file is damaged")
        start = sections[link][4]
        strings = reader.content[start : start + sections[link][5]]
        count = size // max(stride, 1)
        table = reader.table(_SYMBOL, offset, count, stride, "symbol table")
        for name_offset, address, length, info, _, where in table:
            name = strings[name_offset : max(strings.find(b"\0", name_offset), 0)].decode(errors="replace")
            if where != 0 and name and not name.startswith((".", "$")):
                found.append((name, address, length, info & 15, info >> 4))
    return found


def load_elf(path: str | Path, memory_map: MemoryMap | None = None) -> ElfImage:
    """Read a RISC-V ELF32 executable.

    Raises
    ------
    ImageError
        For a file that is missing, is not ELF, is not for this machine (64 bit, big endian, another processor,
        compressed instructions, double-precision ABI), is not linked, is damaged, or does not fit into ``memory_map``.
    """
    path = Path(path)
    reader = _Reader(path, _read_file(path))
    if reader.content[:4] != b"\x7fELF":
        raise reader.fail("not an ELF file; give a linked riscv32 executable, or a raw image with --bin")
    header = reader.table(_HEADER, 0, 1, _HEADER.size, "header")[0]
    _check_header(reader, header)
    entry, program_offset, section_offset = header[4], header[5], header[6]
    program_stride, program_count, section_stride, section_count = header[9:13]
    segments = _segments(
        reader, reader.table(_PROGRAM_HEADER, program_offset, program_count, program_stride, "program header table"),
        memory_map or MemoryMap(),
    )
    if entry % 4 or not any(segment.address <= entry < segment.end for segment in segments):
        raise reader.fail(f"its entry point {entry:#010x} is not an instruction in a segment; link it with an entry")
    symbols = _symbols(
        reader, reader.table(_SECTION_HEADER, section_offset, section_count, section_stride, "section table")
    )
    symbols.sort(key=lambda symbol: symbol[4])  # local ones first: a global of the same name wins
    functions = {(address, address + size, name) for name, address, size, kind, _ in symbols if kind == _FUNCTION}
    return ElfImage(
        path=path, entry=entry, segments=segments,
        symbols={name: (address, size) for name, address, size, _, _ in symbols}, functions=tuple(sorted(functions)),
        content=reader.content,
    )


def load_binary(path: str | Path, base: int | None = None, memory_map: MemoryMap | None = None) -> ElfImage:
    """Take a file as a raw image at ``base`` (default: the machine's start address), entered at its first byte.

    Raises
    ------
    ImageError
        For a file that is missing or empty, a ``base`` that is not a multiple of 4, or an image that is not in memory.
    """
    path = Path(path)
    memory_map = memory_map or MemoryMap()
    base = memory_map.start if base is None else base
    reader = _Reader(path, _read_file(path))
    if not reader.content:
        raise reader.fail("empty; a raw image has at least one instruction")
    if base % 4:
        raise reader.fail(f"base {base:#x} is not a multiple of 4")
    segment = Segment(base, reader.content, len(reader.content))
    return ElfImage(path=path, entry=base, segments=_checked(reader, [segment], memory_map), raw=True)


def load_vxbin(path: str | Path, memory_map: MemoryMap | None = None) -> ElfImage:
    """Read an image in Vortex's format: its first address and its end address, 64 bits each, and its bytes.

    It is entered at its first byte. Memory between the last byte and the end address is zero.

    Raises
    ------
    ImageError
        For a file that is missing, cut off or damaged, or does not fit into ``memory_map``.
    """
    path = Path(path)
    reader = _Reader(path, _read_file(path))
    data = reader.content[_VXBIN.size :]
    if not data:
        raise reader.fail(f"a .vxbin file of {len(reader.content)} bytes, with no program in it; it is truncated")
    (first, end), = reader.table(_VXBIN, 0, 1, _VXBIN.size, "header")
    if end - first < len(data):
        raise reader.fail(
            f"a .vxbin file of {len(data)} bytes for {first:#x} to {end:#x}, which hold fewer; it is damaged"
        )
    if first % 4:
        raise reader.fail(f"a .vxbin file that begins at {first:#x}, which is not a multiple of 4; link it again")
    segment = Segment(first, data, end - first)
    return ElfImage(path=path, entry=first, segments=_checked(reader, [segment], memory_map or MemoryMap()))
