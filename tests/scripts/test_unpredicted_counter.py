"""A counter that the predictor's model does not have: what predicts has no value for it, and says so."""

import json
import re

import pytest

from metronome.hdl.layouts import counters
from metronome.scripts.cli import main
from metronome.scripts.commands import result
from metronome.sim.predict import sums
from metronome.sim.run import outcome, types
from metronome.sim.studies.sweep import rows

pytestmark = [pytest.mark.slow, pytest.mark.build("model")]

READER = """\
int main(void)
{
    unsigned value;
    __asm__ volatile("csrr %0, 0xB16" : "=r"(value));
    return (int)value;
}
"""


@pytest.fixture(autouse=True)
def one_more(monkeypatch):
    """The table as step 1 of docs/extending.md leaves it, and no more done, for all that reads it here."""
    stores = counters.Counter(name="stores", csr=0xB16, title="stores", about="stores issued")
    table = (*counters.COUNTERS, stores)
    for module in (counters, outcome, result, rows, sums, types):
        monkeypatch.setattr(module, "COUNTERS", table)


def test_a_prediction_has_no_value_for_it(capsys):
    assert main("predict vecadd --preset TINY --size 8".split()) == 0
    assert re.search(r"^ *stores +not predicted *$", capsys.readouterr().out, re.MULTILINE)
    assert main("predict vecadd --preset TINY --size 8 --json -".split()) == 0
    values = json.loads(capsys.readouterr().out)
    assert (values["stores"], values["errors"]) == (None, 0) and values["loads"] > 0
    assert main("sweep vecadd --preset TINY --size 8 --engine predict --json -".split()) == 0
    assert '"stores": null' in capsys.readouterr().out


def test_a_bound_needs_no_value_of_it(capsys):
    assert main("wcet vecadd --preset TINY --size 8 --json -".split()) == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("command", ["predict", "wcet"])
def test_a_program_that_reads_it_is_refused(command, capsys, tmp_path):
    (tmp_path / "reader.c").write_text(READER)
    assert main([command, str(tmp_path / "reader.c"), "--preset", "TINY"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.endswith("the counter stores, which sim/predict/model does not have\n"), err
