"""metronome build --image: one program with its inputs, and nothing half-written."""

import functools
import json

import pytest

from metronome.sim.program.image import image_text, read_words
from metronome.sim.program.kernels import prepare
from tests.support.builds import TINY


@pytest.fixture
def call(call):
    return functools.partial(call, "build")


def test_a_kernel_with_its_inputs(call, tmp_path):
    status, out, err = call("vecadd", "--preset", "TINY", "--size", "5", "--seed", "3", "--image", "v.hex")
    assert (status, err) == (0, "")
    assert out.startswith("v.hex: ") and "start_pc 0x80000000, arg 0x00010000" in out
    assert [path.name for path in tmp_path.iterdir()] == ["v.hex"]
    text = (tmp_path / "v.hex").read_text()
    assert text == image_text(prepare("vecadd", size=5, seed=3, config=TINY), TINY)
    assert text != image_text(prepare("vecadd", size=5, seed=4, config=TINY), TINY)


def test_both_and_json(call, tmp_path):
    status, out, _ = call("psum", "--warps", "2", "--threads", "2", "--image", "p.hex", "-o", "p.elf", "--json", "-")
    value = json.loads(out)
    assert (status, value["bytes"]) == (0, (tmp_path / "p.elf").stat().st_size)
    assert value["image"]["bytes"] == (tmp_path / "p.hex").stat().st_size
    assert set(value["image"]["buffers"]) == {"source", "target", "totals"}
    assert value["image"]["argument"] == 0x10000


def test_a_source_and_an_elf_give_the_same_words(call, tmp_path):
    (tmp_path / "my.c").write_text("int main(void)\n{\n    return 0;\n}\n")
    assert call("my.c", "--image", "a.hex", "-o", "my.elf")[0] == 0
    assert call("my.elf", "--image", "b.hex")[0] == 0
    first, second = (list(read_words((tmp_path / name).read_text())) for name in ("a.hex", "b.hex"))
    assert first == second and first


@pytest.mark.parametrize(("arguments", "words"), [
    (("vecadd", "--size", "5"), "--size is for --image"), (("vecadd", "--preset", "TINY"), "--preset is for --image"),
    (("vecadd", "--set", "warps=2"), "--set is for --image"),
    (("a.c", "b.c", "--image", "x.hex"), "--image is for one program"),
    (("vecadd", "--image", "missing/x.hex"), "--image: cannot write"),
    (("vecadd", "--image", ""), "--image: cannot write"),
    (("vecadd", "--image", "x", "-o", "x"), "already the file of --output"),
    (("a.c", "--image", "a.c"), "already the file of a.c"), (("vecadd", "--image", "x", "--size", "0"), "--size"),
    (("vecadd", "--image", "x", "--seed", "-1"), "--seed"), (("vecadd", "--image", "x", "--warps", "99"), "warps"),
    (("vecadd", "--image", "x", "--size", "999999999"), "size"), (("a.elf", "-o", "y"), "linked already"),
    (("a.elf", "--image", "x"), "a.elf"),
])
def test_bad_use_is_one_line_and_writes_nothing(call, tmp_path, arguments, words):
    for name in ("a.c", "b.c", "a.elf"):
        (tmp_path / name).write_text("int main(void)\n{\n    return 0;\n}\n")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    status, out, err = call(*arguments)
    assert (status, out, len(err.splitlines())) == (2, "", 1)
    assert words in err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
