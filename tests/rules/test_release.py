"""The parts of a release: one version, packages with all files, workflows whose commands exist, and the image."""

import importlib.util
import re
import shlex
import shutil
import tomllib

import pytest
import yaml

from tests.docs.pages import ROOT
from tests.support.source_files import source_files

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
PACKAGES = {path.name for path in (ROOT / ".ci" / "names" / "metronome").iterdir()}
TARGETS = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split())


@pytest.fixture
def package():
    spec = importlib.util.spec_from_file_location("package", ROOT / ".ci" / "package.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHANGES = "## 1.2.3 (2026-01-01)\n\n- New: [a](b.md),\n  [c](https://d.org).\n- Old\n\n## 1.2.2 (x)\n"


def write(root, *, version="1.2.3", cited="1.2.3", changes=CHANGES):
    (root / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
    (root / "CITATION.cff").write_text(f"cff-version: 1.2.0\nversion: {cited}\n")
    (root / "CHANGELOG.md").write_text(changes)
    return root


def test_the_version_is_the_same_everywhere(package):
    number = package.version()
    headings = re.findall(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert headings[0][0] == number and package.notes(number)
    released = re.search("^date-released: (.*)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)[1]
    assert headings[0][1] == released


def test_the_notes_are_the_section_of_the_version(package, tmp_path):
    root = write(tmp_path)
    assert (package.version(root), package.notes("1.2.3", root)) == (
        "1.2.3", "- New: a, [c](https://d.org).\n- Old\n",
    )


@pytest.mark.parametrize("change", [
    {"cited": "1.2.2"}, {"version": "1.2.4", "cited": "1.2.4"}, {"changes": "## 1.2.3\n"},
])
def test_versions_that_differ_are_refused(package, tmp_path, change):
    root = write(tmp_path, **change)
    with pytest.raises(package.PackageError):
        package.notes(package.version(root), root)


def test_a_tag_of_another_version_builds_nothing(package, monkeypatch, capsys):
    monkeypatch.setattr(package, "build", lambda folder: pytest.fail("it builds"))
    assert package.main(["v9.9.9"]) == 1
    assert capsys.readouterr().err.startswith("package: the tag v9.9.9 is not v")


def test_every_file_of_the_packages_is_in_the_wheel():
    """pyproject.toml has to name a file that is not Python. Only pages for readers of the sources are left out."""
    declared = PROJECT["tool"]["setuptools"]["package-data"]
    suffixes = {pattern.removeprefix("*") for pattern in declared["*"]} | {".py", ".md"}
    named = {path for package, patterns in declared.items() if package != "*" for pattern in patterns
             for path in ROOT.joinpath(*package.split(".")[1:]).glob(pattern)}
    missing = [str(path) for path in source_files(ROOT) if path.relative_to(ROOT).parts[0] in PACKAGES
               and path.suffix not in suffixes and path not in named]
    assert not missing


def steps(path):
    for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values():
        yield from job["steps"]


def commands(path):
    """The commands of a workflow, as words."""
    for step in steps(path):
        for line in step.get("run", "").replace("&&", "\n").splitlines():
            if words := shlex.split(line):
                yield words


def test_there_are_workflows_for_changes_and_releases():
    assert {path.name for path in WORKFLOWS} == {"ci.yml", "release.yml"}
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    # `on` is a truth value in YAML 1.1.
    assert release[True] == {"push": {"tags": ["v*"]}}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_a_workflow_calls_exists(path):
    found = list(commands(path))
    assert found
    for words in found:
        if words[0] == "make":
            assert set(words[1:]) <= TARGETS
        elif words[0].startswith("."):
            assert shutil.which(ROOT / words[0])
        elif words[0].startswith("python"):
            assert (ROOT / words[1]).is_file()
        else:
            assert words[0] in ("apt-get", "git", "gh")


def test_a_workflow_uploads_what_make_docs_and_the_package_script_write(package):
    uploads = {step["with"]["path"] for path in WORKFLOWS for step in steps(path) if "/upload-" in step.get("uses", "")}
    assert uploads == {str(package.OUTPUT.relative_to(ROOT)), "build/docs/html"}


def test_the_templates_are_forms_of_github():
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*_*.yml"):
        form = yaml.safe_load(path.read_text("utf-8"))
        assert form["name"] and form["description"]
        assert all(part["type"] in ("input", "textarea") and part["attributes"]["label"] for part in form["body"])
    bug = (ROOT / ".github/ISSUE_TEMPLATE/bug_report.yml").read_text("utf-8")
    assert "metronome --version" in bug and "METRONOME_TRACEBACK=1" in bug


def recipe(target):
    lines = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1]
    return [line.strip().replace("$(BIN)", ".venv/bin") for line in lines.splitlines()]


def test_the_hooks_are_those_of_make_lint():
    """Each hook is a command of `make lint`; ruff gets the files that change, in place of all."""
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    assert all(hook["language"] == "system" for hook in hooks)
    assert [hook["entry"] for hook in hooks] == [line.removesuffix(" .") for line in recipe("lint")]


def test_the_image_has_the_packages_of_the_readme():
    readme = re.search(r"`([^`]*python3-venv[^`]*)`", (ROOT / "README.md").read_text("utf-8"))[1]
    container = (ROOT / "Containerfile").read_text("utf-8")
    installed = re.search(r"apt-get install -y --no-install-recommends \\\n(.*) \\\n", container)[1]
    assert installed.split() == readme.split()
    for path in WORKFLOWS:
        needed = re.search(r"no-install-recommends(.*?)\n      - ", path.read_text("utf-8"), re.DOTALL)[1].split()
        assert set(readme.split()) <= set(needed)


def test_the_image_is_made_of_the_sources_alone():
    """Nothing of a checkout's products gets into the image."""
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text().split()}
    left_out = {line.removeprefix("**/") for line in (ROOT / ".dockerignore").read_text().split()}
    assert ignored - left_out <= {"*.pyc"} and ".git" in left_out


def test_no_host_of_a_registry_is_named():
    """Mirrors are the choice of the user who builds: images have short names, and pip has its own settings."""
    images = re.findall(r"^(?:FROM| +image:| +container:) (\S+)$", "\n".join(
        path.read_text("utf-8") for path in (ROOT / "Containerfile", *WORKFLOWS)), re.MULTILINE)
    assert len(images) == 3 and all(re.fullmatch(r"debian:[a-z-]+", image) for image in images)
    files = [ROOT / "Containerfile", ROOT / "Makefile", ROOT / ".ci" / "run", ROOT / ".ci" / "package.py", *WORKFLOWS]
    assert [path.name for path in files if "index-url" in path.read_text("utf-8")] == []
