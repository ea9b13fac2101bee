"""The ELF reader: what it reads from a good file, and one clear line for every bad one."""

import random
import re
import struct
from pathlib import Path

import pytest

from metronome.hdl.config import MemoryMap
from metronome.sim.program.compiler.elf_cache import build_elf
from metronome.sim.program.elf import ImageError, Segment, load_binary, load_elf, load_vxbin
from tests.support.tiers import some_more

ENTRY = 0x8000_0000
CODE = bytes.fromhex("6f000000")  # jal x0, 0


def tiny_elf(
    *, ident=b"\x7fELF\x01\x01\x01" + bytes(9), kind=2, machine=243, entry=ENTRY, flags=2, segments=((ENTRY, CODE, 4),)
) -> bytes:
    """The smallest file that loads: a header, program headers, data. Segments are (address, data, memory size)."""
    offset = 52 + 32 * len(segments)
    sizes = (52, 32, len(segments), 40, 0, 0)
    header = struct.pack("<16sHHIIIIIHHHHHH", ident, kind, machine, 1, entry, 52, 0, flags, *sizes)
    table, content = b"", b""
    for address, data, size in segments:
        table += struct.pack("<8I", 1, offset + len(content), address, address, len(data), size, 7, 4)
        content += data
    return header + table + content


@pytest.fixture(scope="module")
def kernel_path(tmp_path_factory):
    """A real one, with symbols and line table."""
    source = tmp_path_factory.mktemp("elf") / "small.c"
    source.write_text(
        '#include "metronome.h"\n'
        "volatile uint32_t counter = 7;\n"
        "__attribute__((noinline)) static uint32_t twice(uint32_t x)\n"
        "{\n"
        "    return x + counter;\n"
        "}\n"
        "int main(void)\n"
        "{\n"
        "    return (int)twice(3);\n"
        "}\n"
    )
    return build_elf([source], name="small")


def refused(tmp_path, content, message):
    """Loading ``content`` raises ImageError with one line that names the file and contains ``message``."""
    path = tmp_path / "bad.elf"
    path.write_bytes(content)
    with pytest.raises(ImageError) as caught:
        load_elf(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ") and "\n" not in text
    assert message in text


def test_a_small_file_loads(tmp_path):
    path = tmp_path / "good.elf"
    path.write_bytes(tiny_elf(segments=((ENTRY + 64, b"ab", 10), (ENTRY, CODE, 4), (0x2000_0000, b"", 0))))
    image = load_elf(path)
    assert image.entry == ENTRY
    parts = [(segment.address, segment.data, segment.size) for segment in image.segments]
    assert parts == [(ENTRY, CODE, 4), (ENTRY + 64, b"ab", 10)]
    assert (image.symbols, image.functions) == ({}, ())
    assert image.source_line(ENTRY) is None and image.function_at(ENTRY) is None


def test_a_kernel_has_symbols_functions_and_lines(kernel_path):
    image = load_elf(kernel_path)
    main, size = image.symbols["main"]
    twice, _ = image.symbols["twice"]
    assert image.entry == image.symbols["_start"][0] == ENTRY
    assert image.symbols["counter"][1] == 4
    assert not [name for name in image.symbols if name.startswith((".", "$"))]
    assert image.function_at(main) == image.function_at(main + size - 4) == "main"
    assert image.function_at(twice) == "twice"
    lines = {image.source_line(pc).rsplit("/", 1)[1] for pc in range(main, main + size, 4)}
    assert lines & {"small.c:9", "small.c:8"} and all(line.startswith("small.c:") for line in lines)
    assert image.source_line(twice).endswith("small.c:5")
    assert image.source_line(ENTRY).startswith("riscv_kernels/runtime/crt0.S:")
    for outside in (0, ENTRY - 4, image.segments[-1].end + 4096, 0xFFFF_FFFC):
        assert image.source_line(outside) is None and image.function_at(outside) is None


def symbol_elf(name: str) -> bytes:
    """An ELF with one function at its entry."""
    base = tiny_elf()
    strings = b"\0" + name.encode() + b"\0"
    symbol = struct.pack("<IIIBBH", 1, ENTRY, 4, 0x12, 0, 1)
    table = struct.pack("<10I", 0, 2, 0, 0, len(base), 16, 1, 0, 4, 16)
    table += struct.pack("<10I", 0, 3, 0, 0, len(base) + 16, len(strings), 0, 0, 1, 0)
    header = bytearray(base)
    struct.pack_into("<I", header, 32, len(base) + 16 + len(strings))
    struct.pack_into("<HH", header, 46, 40, 2)
    return bytes(header) + symbol + strings + table


@pytest.mark.parametrize(("name", "shown"), [
    ("_Z5scaleIfEvPT_i", "void scale<float>(float*, int)"),
    ("_ZN12_GLOBAL__N_14workEPKv", "(anonymous namespace)::work(void const*)"),
    ("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const"),
    ("_Zé", "_Zé"),
    ("_ZN", "_ZN"),
    ("i", "i"),
])
def test_functions_have_the_names_of_the_source(tmp_path, name, shown):
    path = tmp_path / "names.elf"
    path.write_bytes(symbol_elf(name))
    image = load_elf(path)
    assert image.function_at(ENTRY) == shown
    # --dump and the like take the name that the linker knows.
    assert set(image.symbols) == {name}


@pytest.mark.more
def test_line_tables_of_every_dwarf_version(tmp_path):
    source = tmp_path / "old.c"
    source.write_text("int main(void)\n{\n    return 5;\n}\n")
    for version in (2, 3, 4, 5):
        image = load_elf(build_elf([source], name="old", flags=[f"-gdwarf-{version}"]))
        assert image.source_line(image.symbols["main"][0]).endswith("old.c:3"), f"DWARF {version}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ident": b"\x7fELF\x02\x01\x01" + bytes(9)}, "a 64-bit ELF"),
        ({"ident": b"\x7fELF\x07\x01\x01" + bytes(9)}, "class 7"),
        ({"ident": b"\x7fELF\x01\x02\x01" + bytes(9)}, "big-endian"),
        ({"machine": 62}, "machine 62, not RISC-V"),
        ({"kind": 1}, "object file"),
        ({"kind": 3}, "position-independent"),
        ({"kind": 77}, "of type 77"),
        ({"flags": 3}, "compressed"),
        ({"flags": 4}, "ABI"),
        ({"flags": 6}, "ABI"),
        ({"entry": 0x1000_0000}, "entry point"),
        ({"entry": ENTRY + 2}, "entry point"),
        ({"segments": ()}, "nothing to load"),
        ({"segments": ((ENTRY, CODE, 2),)}, "holds more bytes"),
        ({"segments": ((0, CODE, 4), (ENTRY, CODE, 4))}, "outside memory"),
        ({"segments": ((ENTRY, CODE, 4), (0xFFFF_0000, CODE, 4))}, "outside memory"),
        ({"segments": ((ENTRY, CODE, 0x7FFF_0001),)}, "outside memory"),
        ({"segments": ((ENTRY, CODE, 9), (ENTRY + 8, CODE, 4))}, "overlap"),
        ({"segments": ((ENTRY, CODE, 4), (ENTRY, CODE, 4))}, "overlap"),
    ],
)
def test_refusals(tmp_path, changes, message):
    refused(tmp_path, tiny_elf(**changes), message)


def test_memory_ends_where_the_map_says(tmp_path):
    path = tmp_path / "edge.elf"
    path.write_bytes(tiny_elf(segments=((ENTRY, CODE, 0x7FFF_0000),)))
    assert load_elf(path).segments[0].end == MemoryMap().end
    with pytest.raises(ImageError, match="outside memory"):
        load_elf(path, MemoryMap(end=0xFFFE_FFC0))


def test_files_that_are_none(tmp_path):
    refused(tmp_path, b"", "not an ELF file")
    refused(tmp_path, b"#!/bin/sh\n", "not an ELF file")
    refused(tmp_path, b"\x7fELF", "header lies outside the file")
    for load in (load_elf, load_binary):
        with pytest.raises(ImageError, match=r"missing\.elf: no such file$"):
            load(tmp_path / "missing.elf")
        with pytest.raises(ImageError, match="cannot be read"):
            load(tmp_path)


def test_raw_images(tmp_path):
    path = tmp_path / "image.bin"
    path.write_bytes(CODE * 3)
    image = load_binary(path)
    assert (image.entry, image.segments[0].address, image.segments[0].data) == (ENTRY, ENTRY, CODE * 3)
    assert load_binary(path, 0x4000_0000).entry == 0x4000_0000
    for base, message in ((0x8000_0002, "multiple of 4"), (0, "outside memory"), (0xFFFE_FFFC, "outside memory")):
        with pytest.raises(ImageError, match=message):
            load_binary(path, base)
    path.write_bytes(b"")
    with pytest.raises(ImageError, match="empty"):
        load_binary(path)


def survives(path, content, label):
    """Loading either works or raises ImageError with one line; what loaded can be asked for lines."""
    path.write_bytes(content)
    try:
        image = load_elf(path)
    except ImageError as error:
        assert "\n" not in str(error), label
        return False
    except Exception as error:
        raise AssertionError(f"{label}: {error!r}") from error
    for pc in (ENTRY, ENTRY + 0x100, 0):
        image.source_line(pc)
        image.function_at(pc)
    return True


def vxbin(first, end, data):
    return struct.pack("<2Q", first, end) + data


def test_an_image_in_the_format_of_vortex(tmp_path):
    path = tmp_path / "program.vxbin"
    path.write_bytes(vxbin(0x9000_0000, 0x9000_0010, CODE))
    image = load_vxbin(path)
    assert image.entry == 0x9000_0000
    assert image.segments == (Segment(0x9000_0000, CODE, 16),)
    path.write_bytes(vxbin(0x9000_0000, 0x9000_0004, CODE))
    assert load_vxbin(path).segments == (Segment(0x9000_0000, CODE, 4),)


@pytest.mark.parametrize(("content", "message"), [
    (b"", r"a \.vxbin file of 0 bytes, with no program in it; it is truncated"),
    (bytes(15), r"a \.vxbin file of 15 bytes, with no program in it; it is truncated"),
    (vxbin(ENTRY, ENTRY + 4, b""), r"a \.vxbin file of 16 bytes, with no program in it; it is truncated"),
    (vxbin(ENTRY, ENTRY + 3, CODE), r"4 bytes for 0x80000000 to 0x80000003, which hold fewer; it is damaged"),
    (vxbin(ENTRY, 0, CODE), r"4 bytes for 0x80000000 to 0x0, which hold fewer; it is damaged"),
    (vxbin(ENTRY + 2, ENTRY + 6, CODE), r"begins at 0x80000002, which is not a multiple of 4; link it again"),
    (vxbin(0xFFFF_FFF0, 0x1_0000_0010, CODE), r"segment 0xfffffff0\.\.0x100000010 is outside memory .*; link it to "),
    (vxbin(1 << 40, 1 << 41, CODE), r"segment 0x10000000000\.\.0x20000000000 is outside memory .*; link it to "),
    (vxbin(0, 4, CODE), r"segment 0x00000000\.\.0x00000004 is outside memory .*; link it to "),
])
def test_a_bad_image_in_the_format_of_vortex(tmp_path, content, message):
    path = tmp_path / "program.vxbin"
    path.write_bytes(content)
    with pytest.raises(ImageError, match=rf"^{re.escape(str(path))}: .*{message}"):
        load_vxbin(path)


def test_a_file_cut_off_anywhere(tmp_path, kernel_path):
    content = kernel_path.read_bytes()
    path = tmp_path / "cut.elf"
    for length in [*range(0, 200, 3), *range(200, len(content), 331)]:
        # The section table stands last, so every cut is noticed.
        assert not survives(path, content[:length], f"cut to {length} bytes"), f"cut to {length} bytes was accepted"


@pytest.mark.parametrize("count", some_more([40, 200], 1))
def test_files_with_random_damage(tmp_path, kernel_path, count):
    content = kernel_path.read_bytes()
    sections = struct.unpack_from("<I", content, 32)[0]
    path = tmp_path / "damaged.elf"
    accepted = 0
    for seed in range(count):
        rng = random.Random(seed)
        damaged = bytearray(content)
        # Where it hurts: header and program headers, section table, or anywhere.
        first, end = rng.choice([(4, 116), (sections, len(content)), (0x600, sections), (0, len(content))])
        for _ in range(rng.choice([1, 2, 8, 40])):
            damaged[rng.randrange(first, end)] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
        accepted += survives(path, bytes(damaged), f"seed {seed}")
    assert count // 10 < accepted < count * 9 // 10, "the damage should be fatal in some files and harmless in others"


def test_what_the_interface_inlines_has_the_line_that_calls_it(tmp_path):
    """A barrier is in metronome.h, two calls deep; who reads a report wants to know which."""
    source = tmp_path / "calls.c"
    source.write_text(
        '#include "metronome.h"\n\nint main(void)\n{\n    simt_bar(0, 1);\n    __syncthreads();\n    return 0;\n}\n'
    )
    image = load_elf(build_elf([source], name="calls"))
    address, size = image.symbols["main"]
    words = {pc: int.from_bytes(image.segments[0].data[pc - image.segments[0].address :][:4], "little")
             for pc in range(address, address + size, 4)}
    barriers = [pc for pc, word in words.items() if word & 0x707F == 0x400B]
    assert [Path(str(image.source_line(pc))).name for pc in barriers] == ["calls.c:5", "calls.c:6"]
