"""Output files are refused before the work, and are whole or not there."""

import json
import os

import pytest

from metronome.scripts.options.dumps import Dump, parse_dumps
from metronome.scripts.output import outputs
from metronome.scripts.process.errors import UsageError
from metronome.sim.machine.memory.store import SparseMemory

SYMBOLS = {"result": (0x8000_1000, 64), "label": (0x8000_2000, 0), "huge": (0x1000, 2**32 - 1), "in": (0x1_1000, 8)}


@pytest.fixture
def memory():
    memory = SparseMemory()
    memory.write(0x8000_1000, bytes(range(64)))
    return memory


def test_a_writable_file_is_not_left_behind_by_the_trial(tmp_path):
    assert outputs.require_writable(str(tmp_path / "a.json"), "--json") == tmp_path / "a.json"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["missing/a.json", "", ".", "file/a.json", "x" * 300, "zero\0byte"])
def test_an_unwritable_file_is_refused_with_its_option(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"^--json: cannot write ") as caught:
        outputs.require_writable(name, "--json")
    assert "\n" not in str(caught.value)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outputs.Path, "replace", fail)
    with pytest.raises(UsageError, match="No space left"):
        outputs.write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_device_is_written_in_place(tmp_path):
    device = outputs.require_writable("/dev/null", "--json")
    outputs.write_file(device, b"text")
    assert device.is_char_device()


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    outputs.write_file(outputs.require_writable(str(tmp_path / "link"), "--json"), b"text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"text"


def test_json_refuses_what_is_not_json(tmp_path):
    outputs.write_json(tmp_path / "a", {"x": None, "y": [1]})
    document = json.loads((tmp_path / "a").read_text())
    assert document.pop("origin") and document == {"x": None, "y": [1]}
    with pytest.raises(ValueError, match="Out of range"):
        outputs.write_json(tmp_path / "a", float("nan"))


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("result", bytes(range(64))),
        ("result:4", bytes(range(4))),
        ("0x80001010:0x10", bytes(range(16, 32))),
        (f"{0x8000_1000}:2", bytes(range(2))),
        ("label:3", bytes(3)),
    ],
)
def test_a_dump_writes_those_bytes(tmp_path, memory, place, expected):
    (request,) = parse_dumps([f"{place}={tmp_path / 'a=b'}"])
    dump = request.resolve(SYMBOLS, memory.memory_map)
    dump.write(memory)
    assert (tmp_path / "a=b").read_bytes() == expected
    assert isinstance(dump, Dump)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("result", "write SYMBOL=FILE"),
        ("=file", "write SYMBOL=FILE"),
        ("result=", "write SYMBOL=FILE"),
        ("a:1:2=file", "write SYMBOL=FILE"),
        ("0x80000000=file", "BYTES must be a number"),
        ("result:=file", "BYTES must be a number"),
        ("result:0=file", "BYTES must be a number"),
        ("result:-4=file", "BYTES must be a number"),
        ("result:many=file", "BYTES must be a number"),
        ("result=missing/file", "cannot write 'missing/file'"),
        ("nothing=file", "unknown buffer or symbol 'nothing': the buffers are in, result"),
        ("resullt=file", "unknown buffer or symbol 'resullt' (did you mean result?): the buffers are in, result"),
        ("lable=file", "unknown buffer or symbol 'lable' (did you mean label?): the buffers are in, result"),
        ("result:65=file", ("result has only 64 bytes: leave out :65, or write 0x80001000:65 to include the memory "
                           "after it")),
        ("in:99999999=file", "in has only 8 bytes: leave out :99999999, or write 0x11000:99999999 to include"),
        ("label=file", "size of label is unknown"),
        ("0:4=file", "not all in memory"),
        ("0xfffffffe:4=file", "not all in memory"),
        ("-4:4=file", "ADDR must be at least 0, not -4"),
        ("0xfffe0000:0xfffffff=file", "not all in memory"),
        ("0x1000:0x10000001=file", "268435457 bytes are too many: at most 268435456"),
        ("huge=file", "4294967295 bytes are too many"),
    ],
)
def test_a_bad_dump_is_one_line(tmp_path, monkeypatch, memory, text, complaint):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        parse_dumps([text])[0].resolve(SYMBOLS, memory.memory_map, ["in", "result"])
    assert str(caught.value).startswith(f"--dump {text}: ")
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_symbol_of_a_program_without_buffers(tmp_path, monkeypatch, memory):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"the program has no symbol 'rseult' \(did you mean result\?\)$"):
        parse_dumps(["rseult=file"])[0].resolve(SYMBOLS, memory.memory_map)


@pytest.fixture
def names(tmp_path):
    """Names of one file `real`, of one that is not there yet, and of others."""
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "hard").hardlink_to(tmp_path / "real")
    (tmp_path / "soft").symlink_to("real")
    (tmp_path / "dangling").symlink_to("new")
    (tmp_path / "folder").symlink_to(".")
    return tmp_path


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("real", "real"), ("real", "hard"), ("hard", "soft"), ("soft", "real"), ("new", "new"), ("new", "dangling"),
        ("folder/new", "new"), ("folder/real", "hard"),
    ],
)
@pytest.mark.parametrize("is_input", [False, True])
def test_a_file_under_two_names_is_refused(names, first, second, is_input):
    one, two = ("--json", names / first), ("--dump x=y", names / second)
    with pytest.raises(UsageError, match=f"^--dump x=y: {second} is already the file of --json$"):
        outputs.refuse_shared([two] if is_input else [one, two], [one] if is_input else [])
    assert (names / "real").read_bytes() == b"old"


def test_other_files_and_the_null_device_may_be_shared(names):
    files = ["real", "new", "other", "folder/third"]
    outputs.refuse_shared([(name, names / name) for name in files], [("--elf", names / "a.elf")])
    outputs.refuse_shared([("a", outputs.Path("/dev/null")), ("b", outputs.Path("/dev/null"))], [])


def test_a_pipe_behind_a_link_is_written_in_place(tmp_path):
    reader, writer = os.pipe()
    try:
        outputs.write_file(outputs.require_writable(f"/dev/fd/{writer}", "--json"), b"text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
        os.close(writer)
