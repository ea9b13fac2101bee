"""docs/tutorials, done as a reader does them: every command, and what it prints."""

import pytest

from tests.docs.pages import ROOT
from tests.docs.tutorials import FOLDER, Reader, blocks, matches
from tests.support.builds import on
from tests.tb.examples.example_runs import needs_icarus

#: The sections of policy.md that need no simulation, and no tool for FPGAs.
COMPUTED = ("A policy that works", "Your own rule in Python", "Comparison", "The hardware")


@pytest.fixture
def reader(tmp_path, monkeypatch, capsys, own_policies):
    monkeypatch.chdir(tmp_path)
    return Reader(capsys)


def test_every_tutorial_is_done():
    done = {"kernel.md", "policy.md", "bound.md", "board.md", "hardware.md"}
    assert {path.name for path in FOLDER.glob("*.md")} == done


@on("TINY")
@pytest.mark.slow
def test_a_first_kernel(reader):
    reader.follow(blocks("kernel.md"))


@pytest.mark.slow
def test_a_bound(reader):
    """Without the command that tries 1000 turns of a loop."""
    page = blocks("bound.md")
    (refused,) = [place for place, block in enumerate(page) if block.content.endswith("--range start=1..9   # fails\n")]
    reader.follow(page[:refused] + page[refused + 2:])


@pytest.mark.more
def test_a_bound_and_a_refusal(reader):
    reader.follow(blocks("bound.md"))


@pytest.mark.slow
def test_a_policy_in_prediction(reader):
    parts = [block for block in blocks("policy.md") if block.part in COMPUTED]
    assert {block.part for block in parts} == set(COMPUTED)
    reader.follow(parts)


@on("TINY with the policy of the tutorial")
@pytest.mark.more
def test_a_policy_on_the_hardware(reader):
    reader.follow(blocks("policy.md"))


@pytest.mark.long  # as tests/sim/fpga/board/test_board_rtl.py, whose simulation it shares
@pytest.mark.xdist_group("board")
def test_a_board(reader):
    reader.instead = {
        "metronome board --output ulx3s": "metronome board --help",
        "openFPGALoader -b ulx3s ulx3s/metronome.bit": "", "metronome board vecadd --port /dev/ttyUSB0": "",
    }
    reader.follow(blocks("board.md"))


@pytest.mark.more
@pytest.mark.xdist_group("synth")
def test_a_routed_unit_and_an_export(reader):
    reader.follow([block for block in blocks("hardware.md") if block.part != "A testbench"])


def in_hardware(reader, tmp_path, *more):
    (tmp_path / "tb").symlink_to(ROOT / "tb")
    bench = "python3 tb/examples/cocotb/run.py export vecadd.hex --test my_bench"
    reader.instead = {bench: " ".join([bench, *more])}
    reader.follow(blocks("hardware.md"))


@needs_icarus
@pytest.mark.more
@pytest.mark.xdist_group("synth")
def test_hardware_on_icarus(reader, tmp_path):
    in_hardware(reader, tmp_path, "--sim", "icarus")


@pytest.mark.long  # a build of minutes
@pytest.mark.xdist_group("synth")
def test_hardware_on_verilator(reader, tmp_path):
    in_hardware(reader, tmp_path)


@pytest.mark.parametrize(("shown", "printed", "same"), [
    ("a  1\nb 2\n", "a 1 \n b 2", True), ("a 1", "a 2", False), ("a", "a b", False), ("...\nb\n", "x\ny\nb\n", True),
    ("a ... c\n...", "a 1 c\nd", True), ("a...", "b", False), ("a.c", "abc", False), ("...", "", True),
])
def test_what_a_page_shows_is_compared(shown, printed, same):
    assert matches(shown, printed) == same


PAGE = """\
# Title

This is `a.txt`:

```c
one

two
```

In `a.txt`, change it:

```diff
-one
+three
```

```
cat a.txt
```

```text
three
...
```

```python
print(7)
```

```text
{number}
```

```
false   # {why}
```
"""


@pytest.mark.parametrize(("number", "why", "problem"), [
    (7, "fails", None), (8, "fails", "but it is"), (7, "hours", "false"), (7, "", "status 1"),
])
def test_a_page_that_is_wrong_fails(reader, tmp_path, monkeypatch, number, why, problem):
    monkeypatch.setattr("tests.docs.tutorials.FOLDER", tmp_path)
    (tmp_path / "page.md").write_text(PAGE.format(number=number, why=why))
    if problem is None:
        reader.follow(blocks("page.md"))
        return
    with pytest.raises((AssertionError, KeyError), match=problem):
        reader.follow(blocks("page.md"))


def test_a_command_that_is_replaced_has_to_be_on_the_page(reader):
    reader.instead = {"make coffee": ""}
    with pytest.raises(AssertionError, match="make coffee"):
        reader.follow([])
