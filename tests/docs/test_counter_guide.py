"""The guide to a new counter, followed in a copy of the tree: what predicts has no value for it, and says so."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.docs.pages import ROOT
from tests.docs.policy_guide import PACKAGES

pytestmark = [pytest.mark.slow, pytest.mark.build("model")]

READER = """\
int main(void)
{
    unsigned value;
    __asm__ volatile("csrr %0, 0xB16" : "=r"(value));
    return (int)value;
}
"""
#: Every subcommand that predicts, in one process.
COMMANDS = """\
import contextlib, io, json, sys
from metronome.scripts.cli import main
done = []
for command in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(command.split())
    done.append((status, out.getvalue(), err.getvalue()))
print(json.dumps(done))
"""


def follow(text, file, line, before):
    """Put ``line`` in front of what ``before`` matches; returns the text."""
    found = re.search(before, text, re.MULTILINE)
    assert found, file
    return f"{text[:found.start()]}{line}\n{text[found.start():]}"


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """Call the copy: (status, standard output, standard error) of each command."""
    folder = tmp_path_factory.mktemp("counter")
    names = folder / "names" / "metronome"
    names.mkdir(parents=True)
    shutil.copytree(ROOT / "hdl", names / "hdl", ignore=shutil.ignore_patterns("__pycache__"))
    for name in set(PACKAGES) - {"hdl"}:
        (names / name).symlink_to(ROOT / name)
    guide = (ROOT / "docs" / "extending.md").read_text("utf-8")
    row = re.search(r"the row `(Counter\(name=\"stores\".*?\))`", guide)[1].replace('")', '", title="stores")')
    step = re.search(r"the step\s`(\"stores\": .*?)`", guide)[1]
    for file, line, before in (
        ("hdl/layouts/counters.py", f"    {row},", r"^\)\n\n\ndef counter_places"),
        ("hdl/observe/counters.py", f"            {step},", r"^ +\"load_wait_cycles\": "),
    ):
        path = names / file
        path.write_text(follow(path.read_text("utf-8"), file, line, before), "utf-8")
    (folder / "reader.c").write_text(READER)

    def call(*commands):
        done = subprocess.run(
            [sys.executable, "-c", COMMANDS, json.dumps(commands)], cwd=folder, capture_output=True, text=True,
            check=False, env={**os.environ, "PYTHONPATH": str(names.parent), "COLUMNS": "200"},
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


def test_what_predicts_does_without_it(called):
    predicted, document, swept, bounded, reads, bound_of_reader = called(
        "predict vecadd --preset TINY --size 8",
        "predict vecadd --preset TINY --size 8 --json -",
        "sweep vecadd --preset TINY --size 8 --engine predict --json -",
        "wcet vecadd --preset TINY --size 8 --json -",
        "predict reader.c --preset TINY",
        "wcet reader.c --preset TINY",
    )
    assert predicted[0] == 0 and re.search(r"^stores +not predicted$", predicted[1], re.MULTILINE), predicted
    values = json.loads(document[1])
    assert (document[0], values["stores"], values["errors"]) == (0, None, 0) and values["loads"] > 0
    assert swept[0] == 0 and '"stores": null' in swept[1], swept
    assert bounded[0] == 0, bounded
    for status, out, err in (reads, bound_of_reader):
        refused = "the counter stores, which sim/predict/model does not have\n"
        assert (status, out) == (2, "") and err.endswith(refused), err
