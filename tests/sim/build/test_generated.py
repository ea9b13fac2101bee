"""The C++ of a simulation in the cache: kept, brought back for another installation, and damaged."""

import random
import tarfile

import pytest

from metronome.sim.build import generated
from metronome.sim.build.generated import pack, unpack
from metronome.sim.build.verilating import BuildError

MAKEFILE = """VM_USER_LDLIBS = \\
  -L/elsewhere/libs -lcocotbvpi_verilator -Wl,--export-dynamic \\

verilator.o: /elsewhere/verilator.cpp
\tcompile $<
mailbox.o: /elsewhere/mailbox.cpp
\tcompile $<
"""


@pytest.fixture
def entry(tmp_path):
    """An entry with the C++ of a design."""
    folder = tmp_path / "entry"
    (folder / "obj").mkdir(parents=True)
    for name, text in (("Vtop.cpp", "int x;"), ("Vtop.h", ""), ("Vtop.mk", MAKEFILE), ("Vtop.o", "object")):
        (folder / "obj" / name).write_text(text)
    pack(folder)
    return folder


def test_the_sources_come_back_with_the_paths_of_this_installation(entry, tmp_path):
    sources = unpack(entry, tmp_path / "new")
    assert sorted(path.name for path in (tmp_path / "new" / "obj").iterdir()) == ["Vtop.cpp", "Vtop.h", "Vtop.mk"]
    text = (tmp_path / "new" / "obj" / "Vtop.mk").read_text()
    assert "/elsewhere" not in text and all(path.is_file() for path in sources)
    assert f"mailbox.o: {next(path for path in sources if path.stem == 'mailbox')}\n" in text
    assert f"  {generated.cocotb_library()} -Wl,--export-dynamic" in text


@pytest.mark.parametrize("damage", [
    lambda content: b"", lambda content: content[: len(content) // 2], lambda content: b"x" * 99, None,
], ids=["empty", "cut off", "something else", "missing"])
def test_a_damaged_copy_is_one_line(entry, tmp_path, damage):
    archive = entry / "sources.tar.gz"
    if damage is None:
        archive.unlink()
    else:
        archive.write_bytes(damage(archive.read_bytes()))
    with pytest.raises(BuildError, match=r"^the build cache is damaged: delete .*entry to have it rebuilt"):
        unpack(entry, tmp_path / "new")


def test_no_bit_of_it_changes_unnoticed(entry, tmp_path):
    """A number in the C++ may be the only thing that is different."""
    archive = entry / "sources.tar.gz"
    content = archive.read_bytes()
    unpack(entry, tmp_path / "whole")
    whole = {path.name: path.read_text() for path in (tmp_path / "whole" / "obj").iterdir()}
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    for number in range(40):
        bit = rng.randrange(8 * len(content))
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        archive.write_bytes(damaged)
        folder = tmp_path / str(number)
        try:
            unpack(entry, folder)
        except BuildError:
            continue
        # Of the time in the file's head, for example.
        found = {path.name: path.read_text() for path in (folder / "obj").iterdir()}
        assert found == whole, f"seed {seed}, bit {bit}"


def test_a_full_disk_is_not_the_cache_s_fault(entry, tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "extractall", full)
    with pytest.raises(OSError, match="No space left"):
        unpack(entry, tmp_path / "new")
