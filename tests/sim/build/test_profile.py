"""Profiles for clang: it reads in them what has run, and how often; and counts that are damaged."""

import re
import struct
import subprocess

import pytest

from metronome.sim.build import compilers
from metronome.sim.build.profile import _CUTOFFS, ProfileError, _Function, _profile, _summary, indexed
from metronome.sim.build.sources import ROOT

PROGRAM = """
extern "C" bool profile_write(const char *);
int seldom(int x) { return x % 7 ? x : -x; }
int often(int x) { return x > 4 ? x - 1 : seldom(x); }
int main(int, char **names) {
  int sum = 0;
  for (int i = 0; i < 1000; ++i) sum += often(i);
  return profile_write(names[1]) ? 0 : 1;
}
"""


def clang(folder, *arguments):
    compiler = compilers.clang()
    command = [*compiler.command, *compiler.flags.split(), "-O1", "-fno-inline", "-std=c++20", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """A folder with a program and what it has counted."""
    folder = tmp_path_factory.mktemp("counted")
    (folder / "main.cpp").write_text(PROGRAM)
    clang(folder, *compilers.COUNTING.split(), "-c", "main.cpp", "-o", "main.o")
    clang(folder, "-c", ROOT / "tb" / "profile.cpp", "-o", "profile.o")
    subprocess.run(["g++", "main.o", "profile.o", "-o", "main"], cwd=folder, check=True)
    subprocess.run(["./main", "counts"], cwd=folder, check=True)
    return folder


def test_clang_reads_how_often_each_function_and_branch_has_run(counted):
    (counted / "machine.profdata").write_bytes(indexed((counted / "counts").read_bytes()))
    said = clang(counted, "-fprofile-use=machine.profdata", "-S", "-emit-llvm", "main.cpp", "-o", "main.ll")
    assert said.stderr == ""
    text = (counted / "main.ll").read_text()
    entries = dict(re.findall(r'!(\d+) = !\{!"function_entry_count", i64 (\d+)\}', text))
    functions = dict(re.findall(r"^define .*@_Z\d(\w+?)i\(.* !prof !(\d+)", text, re.MULTILINE))
    assert {name: int(entries[number]) for name, number in functions.items()} == {"often": 1000, "seldom": 5}
    weights = {tuple(sorted(map(int, pair))) for pair in re.findall(r'"branch_weights", i32 (\d+), i32 (\d+)', text)}
    # Of `often`: 995 of 1000. Clang adds 1 to each weight of some branches, that none of them is 0.
    assert any(abs(low - 5) <= 1 and abs(high - 995) <= 1 for low, high in weights), weights


def test_a_build_that_does_not_count_writes_nothing(tmp_path):
    (tmp_path / "main.cpp").write_text(PROGRAM)
    clang(tmp_path, "main.cpp", ROOT / "tb" / "profile.cpp", "-c")
    subprocess.run(["g++", "main.o", "profile.o", "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run(["./main", "counts"], cwd=tmp_path).returncode == 1
    assert not (tmp_path / "counts").exists()


@pytest.mark.parametrize("damage", [
    lambda raw: b"", lambda raw: raw[:20], lambda raw: raw[:-1], lambda raw: raw + b"x",
    lambda raw: raw[:32] + bytes(len(raw) - 32),
    # Counters that lie elsewhere; names of others.
    lambda raw: raw[:24] + (1 << 40).to_bytes(8, "little") + raw[32:],
    lambda raw: raw[:-3] + b"abc",
], ids=["empty", "half a head", "cut off", "too long", "zeros", "other places", "other names"])
def test_damaged_counts_are_one_line(counted, damage):
    with pytest.raises(ProfileError, match=r"^[^\n]+$"):
        indexed(damage((counted / "counts").read_bytes()))


def test_the_summary_says_what_is_hot():
    """As LLVM's ProfileSummaryBuilder: a share is reached by the least number of the greatest counts."""
    content = _summary([_Function(b"often", 1, (900, 60)), _Function(b"seldom", 2, (39, 1))])
    fields, cutoffs, functions, counters, entry, greatest, inner, total = struct.unpack_from("<8Q", content)
    assert (fields, cutoffs) == (6, len(_CUTOFFS))
    assert (functions, counters, entry, greatest, inner, total) == (2, 4, 900, 900, 60, 1000)
    rows = {cutoff: row for cutoff, *row in struct.iter_unpack("<QQQ", content[64:])}
    assert rows[900_000] == [900, 1] and rows[950_000] == [60, 2] and rows[990_000] == [39, 3]
    assert rows[999_000] == [39, 3] and rows[10_000] == [900, 1]


def test_functions_of_one_name_are_all_in_the_profile():
    """Inline functions of several files can differ."""
    content = _profile([_Function(b"same", 7, (1,)), _Function(b"same", 8, (2,))])
    records = b"".join(struct.pack("<QQQII", shape, 1, count, 8, 0) for shape, count in ((7, 1), (8, 2)))
    assert struct.pack("<Q", len(records)) + b"same" + records in content
    (table,) = struct.unpack_from("<Q", content, 32)
    assert table % 8 == 0 and struct.unpack_from("<QQ", content, table)[1] == 1


def test_nothing_counted_is_no_profile(counted):
    raw = (counted / "counts").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    with pytest.raises(ProfileError, match="the simulation recorded no counts"):
        indexed(raw[:32] + bytes(size) + raw[32 + size:])
