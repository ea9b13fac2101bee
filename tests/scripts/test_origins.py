"""The record of where a result comes from, in what commands write, and what they say of others' results."""

import json

import pytest

from metronome.sim.build import origin as module
from metronome.sim.studies.sweep.results import Results


@pytest.fixture(autouse=True)
def another_command():
    yield
    module.begin([])


@pytest.mark.parametrize("words", [
    ("run", "psort", "--preset", "TINY"), ("sweep", "psort", "--preset", "TINY", "--issue", "lrr,gto"),
    ("verilog", "--preset", "TINY", "--output", "a.v"), ("cache",),
], ids=lambda words: words[0])
def test_a_document_has_its_origin(metronome, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path))
    record = json.loads(metronome(*words, "--json", "-").out)["origin"]
    assert record["command"] == f"metronome {' '.join(words)} --json -"
    assert (record["version"], record["commit"]) == (module.version(), module.commit())
    assert [each["name"] for each in record["machines"]] == [
        "TINY, fpga" if words[0] == "verilog" else "TINY"] * ("TINY" in words)
    assert bool(record["programs"]) == (words[0] in ("run", "sweep"))


def test_results_of_another_version_are_noted(metronome, tmp_path, monkeypatch):
    other = {"version": "0.0.1", "commit": "f" * 40}
    (tmp_path / "runs").mkdir()
    (tmp_path / "sweep.json").write_text(json.dumps(
        {"format": 1, "name": "a", "title": "a", "about": "", "spec": "", "runs": {}}))
    monkeypatch.setattr(Results, "origins", lambda self: [other, other, module.origin(), None])
    done = metronome("report", str(tmp_path))
    notes = [line for line in done.err.splitlines() if line.startswith("metronome: note: ")]
    assert len(notes) == 2, "one for each version, none for this one"
    assert "made by Metronome 0.0.1, commit ffffffffffff; this one is " in notes[0]
    assert "an earlier version" in notes[1]
