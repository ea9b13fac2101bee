"""``metronome characterize`` on the command line."""

import json

import pytest

from metronome.scripts.cli import main
from metronome.sim.studies.characterize import expected
from tests.scripts.lines import only_line


@pytest.mark.parametrize(("words", "line"), [
    (("--set", "coordination=baseline"), "characterize measures swas, not baseline"),
    (("--issue", "srr"), "--issue srr leaves issue slots empty"),
    (("--set", "icache_bytes=1024"), "icache_bytes must be at least 2048, not 1024"),
    (("--set", "icache_bytes=0"), "icache_bytes must be at least 2048, not 0"),
    (("--set", "local_bytes=16"), "local_bytes must be at least two words a lane, 32, not 16"),
    (("--repeat", "0"), "--repeat must be at least 1, not 0"),
    (("--kernels", "psort"), "--kernels is for --models: give both"),
    (("--type", "float32"), "--type is for --models: give both"),
    (("--models", "--type", "double"), "--type: unknown name 'double'"),
    (("--models", "--kernels", "psrot"), "--kernels: unknown name 'psrot' (did you mean psort?)"),
    (("--engine", "spice"), "--engine: unknown name 'spice'"),
    (("--html", "/nowhere/page.html"), "--html: cannot write '/nowhere/page.html': No such file"),
    (("--html", "page", "--json", "page"), "page is already the file of"),
    (("--memory", "tape"), "--memory: unknown name 'tape'"),
])
def test_refusals(metronome, words, line):
    assert line in metronome("characterize", *words).refusal


@pytest.mark.more
def test_a_number_that_differs_is_told(capsys, monkeypatch, tmp_path):
    """As if the documents said 3, where the machine does 2."""
    monkeypatch.setattr(expected, "_BEHIND", 3)
    file = tmp_path / "found.json"
    assert main(["characterize", "--preset", "TINY", "--set", "latency_mul=6", "--json", str(file)]) == 1
    (found, done) = json.loads(file.read_text()), capsys.readouterr()
    assert only_line(done.err) == "metronome: dependent issue: measured 2, but design.md section 4 says 3"
    assert "latency_mul" in done.out and "1 differ" in done.out
    assert "Table 7 of the Fermi study" in done.out
    measured = {each["type"]: each["measured"] for each in found["table_7"]}
    assert measured == {"Reg": 1, "Reg RaW": 6, "LDS": 6, "STS": 1, "LD.E": 28, "ST.E": 1}
    assert not found["passed"] and found["config"]["latency_mul"] == 6 and found["config"]["engine"] == "predict"
    (mul,) = [each for each in found["latencies"] if each["name"] == "latency_mul"]
    assert (mul["measured"], mul["config"], mul["source"], mul["differs"]) == (6, 6, "latency_mul", False)
    assert {each["warps"] for each in found["cpi"]} == {1, 2}
    assert {"class": "mul", "about": "mul", "warps": 1, "independent": 1, "dependent": 8} in found["cpi"]


@pytest.mark.more
def test_models_figures_and_what_varies(capsys, tmp_path):
    file, page = tmp_path / "found.json", tmp_path / "page.html"
    words = ["characterize", "--preset", "TINY", "--repeat", "2", "--json", str(file)]
    assert main([*words, "--models", "--kernels", "vecadd,saxpy", "--html", str(page)]) == 0
    (found, done) = json.loads(file.read_text()), capsys.readouterr()
    assert 'id="figure-25"' in page.read_text("utf-8") and sorted(tmp_path.iterdir()) == [file, page]
    assert "varying warps" in done.out
    assert [each["kernel"] for each in found["models"]] == ["vecadd", "saxpy"]
    (line,) = (line.split() for line in done.out.splitlines() if line.startswith("vecadd"))
    vecadd = found["models"][0]
    assert line[1] == str(vecadd["cycles"])
    assert line[2] == f"{100 * vecadd['models']['cpi best']['error']:+.0f}"
    assert vecadd["models"]["cpi best"]["cycles"] == pytest.approx(
        vecadd["cycles"] * (1 + vecadd["models"]["cpi best"]["error"])
    )


@pytest.mark.long
def test_nothing_differs(capsys):
    assert main(["characterize", "--preset", "TINY", "--memory", "tdm", "--curves", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["passed"] and not [each for each in found["latencies"] if each["differs"]]
    assert {each["name"]: each["config"] for each in found["latencies"]}["load miss"] is None
