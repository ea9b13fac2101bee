"""Registry, builds and launches: sim.program.kernels and sim.program.compiler.elf_cache."""

import dataclasses
import itertools
import re
from importlib.metadata import PackageNotFoundError

import pytest

from metronome.hdl.presets import BASE
from metronome.sim.build.sources import ROOT
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program import kernels as kernel
from metronome.sim.program.compiler import clang as compiler
from metronome.sim.program.compiler import elf_cache as toolchain
from metronome.sim.program.compiler.elf_cache import RUNTIME, ToolchainError, build_elf
from metronome.sim.program.elf import ImageError
from metronome.sim.program.kernels import Launch

MAIN = "int main(void)\n{\n    return 0;\n}\n"


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "program.c"
    path.write_text(MAIN)
    return path


def test_registry():
    infos = kernel.kernels()
    assert tuple(info.name for info in infos) == kernel.KERNELS
    for info in infos:
        assert info.about and "\n" not in info.about
        assert info.types in {("int32", "float32"), ("float32",), ("int32",)}
        assert 1 <= info.default_size <= info.max_size


def test_unknown_names():
    names = ", ".join(kernel.KERNELS)
    message = rf"^unknown kernel 'psrot' \(did you mean psort\?\): use {names}, or "
    with pytest.raises(kernel.KernelError, match=message):
        kernel.prepare("psrot")
    with pytest.raises(kernel.KernelError, match=r"^type of psort must be one of int32, float32, not 'int8'$"):
        kernel.prepare("psort", "int8")
    with pytest.raises(kernel.KernelError, match=r"^\.\./psort: no such file or folder$"):
        kernel.build_kernel("../psort")


def test_a_launch_loads_image_buffers_and_arguments():
    launch = kernel.prepare("vecadd", size=10, seed=3)
    assert (launch.name, launch.dtype, launch.size, launch.seed) == ("vecadd", "int32", 10, 3)
    assert launch.argument_address == 0x10000
    memory = SparseMemory()
    kernel.load_into(launch, memory)
    assert memory.read(0x10000, len(launch.arguments)) == launch.arguments
    assert memory.read_word(0x10000) == 10
    for place, name in enumerate(("a", "b", "c")):
        address, data = launch.buffers[name]
        assert memory.read_word(0x10004 + 4 * place) == address
        assert address % 64 == 0 and memory.read(address, len(data)) == data
    for segment in launch.image.segments:
        assert memory.read(segment.address, len(segment.data)) == segment.data


def test_loading_clears_what_a_segment_only_reserves():
    launch = kernel.prepare("vecadd", size=1)
    address, size = launch.image.symbols["__spawn_context"]
    memory = SparseMemory()
    memory.write(address - 256, b"\xff" * 1024)
    kernel.load_into(launch, memory)
    assert memory.read(address, size) == bytes(size)
    end = max(segment.end for segment in launch.image.segments)
    assert memory.read(end, 64) == b"\xff" * 64


@pytest.mark.slow
def test_buffers_are_apart_from_each_other_and_from_the_program():
    for name in kernel.KERNELS:
        launch = kernel.prepare(name, size=33, config=BASE)
        places = [(launch.argument_address, len(launch.arguments))]
        places += [(address, len(data)) for address, data in launch.buffers.values()]
        places += [(segment.address, segment.size) for segment in launch.image.segments]
        places.sort()
        for (address, size), (following, _) in itertools.pairwise(places):
            assert address + size <= following, name


def test_programs_from_outside(tmp_path, source):
    elf = build_elf([source], name="program")
    block = tmp_path / "arguments.bin"
    block.write_bytes(b"\1\2\3\4\5")
    launch = kernel.prepare_elf(elf, block)
    assert isinstance(launch, Launch) and launch.arguments == b"\1\2\3\4\5"
    memory = SparseMemory()
    kernel.load_into(launch, memory)
    assert memory.read(0x10000, 5) == b"\1\2\3\4\5"
    assert launch.check(memory) == []
    assert kernel.prepare_elf(elf).arguments == b""
    raw = tmp_path / "raw.bin"
    raw.write_bytes(launch.image.segments[0].data)
    assert kernel.prepare_binary(raw).entry == 0x8000_0000
    with pytest.raises(ImageError, match=r"none\.bin: argument block cannot be read: No such file"):
        kernel.prepare_elf(elf, tmp_path / "none.bin")
    with pytest.raises(ImageError, match=r"raw\.bin: segment at 0x00010000 covers the argument block at 0x00010000"):
        kernel.prepare_binary(raw, block, base=0x10000)
    assert kernel.prepare_binary(raw, base=0x10000).entry == 0x10000


def test_an_argument_block_that_reaches_into_the_program(tmp_path):
    raw = tmp_path / "raw.bin"
    raw.write_bytes(bytes(64))
    block = tmp_path / "arguments.bin"
    block.write_bytes(bytes(0x101))
    assert kernel.prepare_binary(raw, block, base=0x10104).arguments == bytes(0x101)
    with pytest.raises(ImageError, match="covers the argument block"):
        kernel.prepare_binary(raw, block, base=0x10100)


def test_nothing_where_the_argument_block_would_be(tmp_path):
    raw, block = tmp_path / "raw.bin", tmp_path / "arguments.bin"
    raw.write_bytes(bytes(64))
    block.write_bytes(b"1")
    launch = kernel.prepare_binary(raw)
    assert launch.without_argument
    assert not kernel.prepare_binary(raw, block).without_argument
    # The line is that of 0x10000 to 0x1003f.
    assert [kernel.prepare_binary(raw, base=base).without_argument for base in (0x10000, 0x1003C, 0x10040)] == [
        False, False, True
    ]
    assert [
        dataclasses.replace(launch, buffers={"b": (address, bytes(4))}).without_argument
        for address in (0xFFFC, 0x10000, 0x1003C, 0x10040)
    ] == [True, False, False, True]


@pytest.mark.more
def test_a_build_is_found_again_and_not_made_twice(own_cache, source, monkeypatch):
    first = build_elf([source], name="program")
    assert first.is_relative_to(own_cache)

    def no_compiler(*arguments, **options):
        raise AssertionError("compiled again")

    monkeypatch.setattr(toolchain, "_build_into", no_compiler)
    assert build_elf([source], name="program") == first


@pytest.mark.slow
def test_whatever_a_build_depends_on_changes_its_place(own_cache, source, monkeypatch):
    header = source.parent / "folder" / "local.h"
    header.parent.mkdir()
    header.write_text("")
    source.write_text(f'#include "folder/local.h"\n{MAIN}')
    builds = [build_elf([source], name="program")]
    builds.append(build_elf([source], name="program", parts=toolchain.Parts(defines={"X": 1})))
    builds.append(build_elf([source], name="program", flags=["-O1"]))
    header.write_text("extern int elsewhere;")
    builds.append(build_elf([source], name="program"))
    source.write_text(source.read_text().replace("0;", "1;"))
    builds.append(build_elf([source], name="program"))
    script = source.parent / "other.ld"
    script.write_text((RUNTIME / "link.ld").read_text() + "/* changed */\n")
    builds.append(build_elf([source], name="program", parts=toolchain.Parts(link_script=script)))
    monkeypatch.setattr(toolchain, "compiler_version", lambda: "0.0.0")
    builds.append(build_elf([source], name="program"))
    assert len(set(builds)) == len(builds)
    assert builds[0].read_bytes() == builds[3].read_bytes() != builds[4].read_bytes()


@pytest.mark.more
def test_builds_are_the_same_anywhere(own_cache, monkeypatch):
    """No path of this machine in the program, so that a build can be compared with another one's."""
    first = kernel.build_kernel("diverge").read_bytes()
    assert str(ROOT).encode() not in first
    assert b"site-packages" not in first
    monkeypatch.setenv("METRONOME_CACHE", str(own_cache / "second"))
    assert kernel.build_kernel("diverge").read_bytes() == first


def test_two_builds_at_once(own_cache, source, monkeypatch):
    """The other process is done between our look into the cache and our move: its result serves."""
    other = build_elf([source], name="program")
    real_exists = type(other).exists
    looked = []

    def not_there_at_first(path, **options):
        if path == other and not looked:
            looked.append(path)
            return False
        return real_exists(path, **options)

    monkeypatch.setattr(type(other), "exists", not_there_at_first)
    assert build_elf([source], name="program") == other
    assert looked and sorted(path.name for path in other.parent.iterdir()) == ["program.elf", "program.s"]
    assert not list(other.parent.parent.glob("building-*"))


def test_compiler_errors_are_told(own_cache, source, tmp_path):
    source.write_text("int main(void) { return nothing; }\n")
    with pytest.raises(ToolchainError,
                       match=r"program\.c:1: use of .*'nothing' \(1 error.*\)\n.*program\.c:1:25: error: "):
        build_elf([source], name="program")
    source.write_text("double x = 2; int main(void) { return (int)(x * x); }\n")
    refused = rf"^{re.escape(str(source))}:1: not supported: .*double.*\n.*undefined symbol: __muldf3"
    with pytest.raises(ToolchainError, match=refused):
        build_elf([source], name="program")
    with pytest.raises(ToolchainError, match=r"^cannot read .*missing\.c: No such file"):
        build_elf([tmp_path / "missing.c"], name="missing")
    kept = sorted(path.name for path in own_cache.glob("kernels/*/*"))
    assert kept == ["library.a", "part.o", "part.o", "part.s"], "what all programs have in common, and no program"


def test_a_missing_compiler_is_told(own_cache, source, monkeypatch):
    def not_installed(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(compiler, "version", not_installed)
    with pytest.raises(ToolchainError, match="install the Python package ziglang"):
        build_elf([source], name="program")
