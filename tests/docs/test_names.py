"""What the pages name is there: commands with their options, files, modules, make targets, tests."""

import functools
import importlib
import re
import shlex

import pytest
import typer

from metronome.scripts.cli import COMMANDS, app
from tests.docs.pages import PAGES, ROOT

FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
FOLDERS = ("hdl", "sim", "tb", "riscv_kernels", "scripts", "tests", "docs")
PACKAGES = FOLDERS[:-2]
#: Files that docs/extending.md makes as examples.
NEW = {"hdl/policies/burst.py", "sim/machine/memory/posted.py", "sim/show/trace/issue_log.py",
       *(f"riscv_kernels/reverse/{name}" for name in ("kernel.c", "host.py", "__init__.py"))}
KNOWN = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in PAGES}


def _ours(lines: list[str]) -> list[str]:
    """Of the lines those that call a program of ours, without variables and folder before its name."""
    bare = [re.sub(r"^(?:[A-Z_]+=\S+ )+", "", line.strip()).removeprefix(".venv/bin/") for line in lines]
    return [line for line in bare if line.split(" ")[0] in {"metronome", "make", "python"}]


def fenced(page: str) -> list[str]:
    """The commands to be typed as they stand: in fenced blocks without a language."""
    blocks = [text.replace("\\\n", " ") for language, text in FENCE.findall(page) if not language]
    return _ours([line.split("  #")[0] for block in blocks for line in block.split("\n")])


def mentioned(page: str) -> list[str]:
    """The commands in code spans, which may leave out what is of no matter there."""
    return _ours(re.findall(r"`([^`]*)`", FENCE.sub("", page).replace("\n", " ")))


def refusal(line: str, *, whole: bool = True) -> str | None:
    """Why the command is none of ours; None if it can be given. ``whole``: with all that it needs."""
    words = shlex.split(line)
    if words[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        unknown = [word for word in words[1:] if "=" not in word and word not in targets]
        return f"no such target: {unknown}" if unknown else None
    if words[:3] == ["python", "-m", "pytest"]:
        return _missing_tests(words[3:])
    if words[0] == "python":
        place = ROOT / words[2].removeprefix("metronome.").replace(".", "/")
        return None if place.exists() or place.with_suffix(".py").exists() else f"no such module: {words[2]}"
    return _metronome_refusal(words[1:], whole)


def _missing_tests(words: list[str]) -> str | None:
    for word in words:
        file, _, test = word.partition("::")
        if file.startswith("tests"):
            if not (ROOT / file).exists():
                return f"no such file: {file}"
            if test and f"def {test.split('[')[0]}(" not in (ROOT / file).read_text("utf-8"):
                return f"no such test: {test}"
    return None


#: Made once, not for each command of each page; not that of scripts.cli, whose subcommands would keep this one's help.
_parser = functools.cache(typer.main.get_command)


def _metronome_refusal(words: list[str], whole: bool) -> str | None:
    if words in ([], ["..."]):
        return None
    if words[0] not in COMMANDS:
        return f"no such subcommand: {words[0]}"
    command = _parser(app).commands[words[0]]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    if unknown := [word for word in words if word.startswith("--") and word not in known]:
        return f"no such option: {unknown}"
    if whole:
        try:
            command.make_context(words[0], words[1:])
        except typer.TyperException as error:
            return error.format_message()
    return None


def code_spans(page: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", FENCE.sub("", page))


def missing_paths(page: str) -> list[str]:
    """Files and folders of ours in code spans that are not there; `*` and NAME stand for any name."""
    paths = [span.split("::")[0].split(" ")[0] for span in code_spans(page)]
    ours = [path for path in paths if re.fullmatch(rf"(?:{'|'.join(FOLDERS)})/[\w*./-]*", path)]
    return [path for path in ours if path not in NEW and not list(ROOT.glob(path.replace("NAME", "*").rstrip("/")))]


def missing_names(page: str) -> list[str]:
    """Dotted names of ours in code spans that no module has, such as `hdl.config.SmConfig`."""
    name = re.compile(rf"(?:metronome\.)?((?:{'|'.join(PACKAGES)})(?:\.\w+)+)")
    found = [match[1] for span in code_spans(page) if (match := name.match(span))]
    return [name for name in found if not name.endswith((".py", ".md", ".c")) and not _there(name)]


def _there(name: str) -> bool:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            place = importlib.import_module(".".join(["metronome", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[length:]:
            fields = getattr(place, "__dataclass_fields__", {})
            if not hasattr(place, attribute) and attribute not in fields:
                return False
            place = getattr(place, attribute, None)
        return True
    return False


@pytest.mark.parametrize("name", KNOWN)
def test_commands_can_be_given(name):
    page = KNOWN[name]
    assert not {line: why for line in fenced(page) if (why := refusal(line))}
    assert not {line: why for line in mentioned(page) if (why := refusal(line, whole=False))}


@pytest.mark.parametrize("name", KNOWN)
def test_files_are_there(name):
    assert not missing_paths(KNOWN[name])


@pytest.mark.parametrize("name", KNOWN)
def test_names_are_there(name):
    assert not missing_names(KNOWN[name])


def test_commands_are_found():
    assert sum(len(fenced(page)) for page in KNOWN.values()) > 25
    assert sum(len(mentioned(page)) for page in KNOWN.values()) > 25


@pytest.mark.parametrize("line", [
    "metronome walk psort", "metronome run psort --speed 3", "make tea", "python -m tests.system.measure_nothing",
    "python -m pytest tests/nowhere", "python -m pytest tests/docs/test_names.py::test_nothing[a]",
])
def test_what_is_not_there_is_seen(line):
    assert refusal(line, whole=False)
    assert mentioned(f"Say `{line}`.") == fenced(f"```\nA=1 {line}  # why\n```") == [line]


def test_what_is_left_out_is_seen():
    assert refusal("metronome sweep")
    assert not refusal("metronome sweep", whole=False)


def test_missing_files_and_names_are_seen():
    page = "`hdl/config.py`, `hdl/nothing.py`, `hdl.config.SmConfig`, `sim.nothing.at_all`, `hdl.sm.Nobody`"
    assert missing_paths(page) == ["hdl/nothing.py"]
    assert missing_names(page) == ["sim.nothing.at_all", "hdl.sm.Nobody"]
