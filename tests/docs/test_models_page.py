"""The figures of docs/models.md are those of `metronome characterize --models`."""

import json

import pytest

from metronome.scripts.cli import main
from metronome.sim.program.kernels import KERNELS
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs/models.md").read_text("utf-8")
MODELS = ("cpi best", "cpi average", "cpi worst", "mwp-cwp", "mwp-cwp cached", "roofline")


def rows(heading):
    """The first table behind a heading, without its first row: a list of cells each."""
    part = PAGE[PAGE.index(f"## {heading}\n") :]
    lines = part[part.index("\n|") + 1 :].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def judged(capsys, *words):
    assert main(["characterize", "--models", *words, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)["models"]


def errors(each, models=MODELS):
    return [f"{100 * each['models'][model]['error']:+.0f}" for model in models]


@pytest.mark.parametrize("heading", ["One warp", "Four warps"])
def test_the_tables_have_all_kernels(heading):
    assert sorted(cells[0] for cells in rows(heading)[:-1]) == sorted(KERNELS)


@pytest.mark.long
@pytest.mark.parametrize(("heading", "words"), [("One warp", ("--warps", "1")), ("Four warps", ())])
def test_the_tables(capsys, heading, words):
    found = judged(capsys, *words)
    *table, (name, *means) = rows(heading)
    assert [cells[0] for cells in table] == [each["kernel"] for each in found]
    for each, cells in zip(found, table, strict=True):
        assert cells[1:8] == [str(each["cycles"]), *errors(each)], each["kernel"]
        assert cells[8:] in ([], ["enough" if each["holds"] else "too few"]), each["kernel"]
    amounts = [sum(abs(each["models"][model]["error"]) for each in found) / len(found) for model in MODELS]
    assert name == "mean amount" and means[1:7] == [f"{100 * amount:.0f}" for amount in amounts]
    if heading == "One warp":
        worst = max(abs(each["models"]["cpi average"]["error"]) for each in found)
        assert f"is within {100 * worst:.0f} percent" in PAGE


@pytest.mark.long
def test_beside_the_study(capsys):
    words = ("--kernels", "conv_rows,conv_columns", "--type", "float32", "--warps", "1", "--threads", "32")
    found = judged(capsys, *words)
    assert [cells[4:] for cells in rows("Comparison with the study's figures")] == [
        [str(each["cycles"]), *errors(each, ("cpi average", "mwp-cwp", "mwp-cwp cached"))] for each in found
    ]
