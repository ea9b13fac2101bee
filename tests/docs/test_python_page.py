"""The examples of docs/python.md, run in order as one program."""

import re

import pytest

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "python.md"


def examples(page: str) -> str:
    """All fenced Python of the page, at the line numbers of the page, so that a traceback names its line."""
    lines, inside = [], False
    for line in page.split("\n"):
        if line.startswith("```"):
            inside = line == "```python"
            line = ""
        lines.append(line if inside else "")
    return "\n".join(lines)


@pytest.mark.more
@pytest.mark.slow
@pytest.mark.build("TINY")
def test_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = examples(PAGE.read_text("utf-8"))
    assert code.count("\nimport") + code.count("\nfrom") >= 8
    exec(compile(code, str(PAGE), "exec"), {"__name__": "examples"})
    printed = capsys.readouterr().out
    assert "--issue: unknown name 'lrx' (did you mean lrr?)" in printed, "an error"
    assert re.search(r"^exactly \d+ cycles", printed, re.MULTILINE), "the bound"
    assert "2 2 ('lrr', 'gtlrr', 'gtlo')" in printed, "the configuration"
    assert "[40 41 42 43]" in printed, "the results of the ELF"
    assert re.search(r"^lrr +10 +0\.\d+$", printed, re.MULTILINE), "the table"


def test_only_fenced_python_is_run():
    assert examples("a = 1\n```python\nb = 2\n```\n```\nc = 3\n```") == "\n\nb = 2\n\n\n\n"
