"""Builds the documentation as a site that needs no network: ``make docs``, in build/docs.

The pages of docs/ stay as a forge shows them. The tables of docs/index.md become the navigation. Pages from other
folders are copied beside them. Two pages are generated: the help of every command, and the reference of the Python
modules.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from typer.main import get_command

from metronome.scripts.cli import app

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "build" / "docs"
#: Pages outside of docs/, by their names in the site.
OTHERS = {
    "readme.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md",
    "security.md": "SECURITY.md",
    "riscv_kernels.md": "riscv_kernels/README.md", "testbenches.md": "tb/examples/README.md",
}
#: The modules in the reference, by title.
MODULES = {
    "Configuration": ["metronome.hdl.config", "metronome.hdl.presets"],
    "Hardware": ["metronome.hdl.verilog", "metronome.hdl.policies.base", "metronome.hdl.frontend.scheduler"],
    "Programs": ["metronome.sim.program.kernels"],
    "Runs": ["metronome.sim.run.runner", "metronome.sim.run.types"],
    "Predictions": ["metronome.sim.predict.predictor"],
    "Bounds": ["metronome.sim.analysis.bound.bound"],
    "Policies": [
        "metronome.sim.machine.policies.base", "metronome.sim.machine.policies.files", "metronome.tb.policies",
    ],
}
SETTINGS = """
project = "Metronome"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
myst_heading_anchors = 6
html_theme = "furo"
html_title = "Metronome"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
default_role = "code"
suppress_warnings = ["myst.xref_missing"]
"""


def main() -> int:
    """Write the sources, and let Sphinx build them; any warning is an error."""
    source = OUTPUT / "source"
    shutil.rmtree(OUTPUT, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for name, path in OTHERS.items():
        shutil.copy(ROOT / path, source / name)
    for page in source.rglob("*.md"):
        page.write_text(_links(page, source))
    (source / "commands.md").write_text(_commands())
    (source / "reference.rst").write_text(_reference())
    (source / "conf.py").write_text(SETTINGS)
    index = source / "index.md"
    index.write_text(index.read_text() + _navigation(index.read_text()))
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", source, OUTPUT / "html"]
    status = subprocess.run(command, check=False).returncode
    if status == 0:
        print(f"the site begins at {(OUTPUT / 'html' / 'index.html').relative_to(ROOT)}")
    return status


def _links(page: Path, source: Path) -> str:
    """The text of a page, with its links to other pages as they lie in the site; a link to code becomes its name."""
    # Nothing draws these without a network.
    text = page.read_text("utf-8").replace("```mermaid", "```text").replace("(docs/pictures/", "(pictures/")
    origin = OTHERS.get(page.name, f"docs/{page.relative_to(source)}") if page.parent == source else \
        f"docs/{page.relative_to(source)}"
    folder = (ROOT / origin).parent

    def moved(match: re.Match[str]) -> str:
        label, link = match[1], match[2]
        if re.match(r"[a-z]+:|#", link):
            return match[0]
        name, _, anchor = link.partition("#")
        target = (folder / name).resolve()
        by_path = {(ROOT / path).resolve(): site for site, path in OTHERS.items()}
        if target in by_path:
            place = source / by_path[target]
        elif target.is_relative_to(ROOT / "docs"):
            place = source / target.relative_to(ROOT / "docs")
        else:
            return label if label.startswith("!") else f"`{target.relative_to(ROOT)}`"
        up = "../" * len(page.relative_to(source).parent.parts)
        return f"[{label}]({up}{place.relative_to(source)}{'#' + anchor if anchor else ''})"

    return re.sub(r"\[((?:!\[[^\]]*\]\([^)]*\)|[^\[\]])*)\]\(([^)\s]+)\)", moved, text)


def _navigation(index: str) -> str:
    """The table of contents: a part for each heading of the index, with the pages that are linked below it."""
    parts = re.split(r"^## (.*)$", index, flags=re.MULTILINE)
    seen: set[str] = set()
    lines = []
    for title, text in zip(parts[1::2], parts[2::2], strict=True):
        pages = [link.removesuffix(".md") for link in re.findall(r"\]\(([^)#]+\.md)\)", text)]
        new = [page for page in dict.fromkeys(pages) if page not in seen]
        seen.update(new)
        if title == "Reference":
            new += ["commands", "reference", "changelog", "readme"]
        lines += ["", "```{toctree}", ":hidden:", f":caption: {title}", "", *new, "```"]
    return "\n".join(lines) + "\n"


def _commands() -> str:
    """The help of every command."""
    lines = ["# The help of every command", "", "`metronome COMMAND --help` prints the same."]
    group = get_command(app)
    for name in group.commands:  # type: ignore[attr-defined]  # it is a group
        done = subprocess.run(
            [sys.executable, "-m", "metronome.scripts.entry", name, "--help"], capture_output=True, text=True,
            check=True, env={"COLUMNS": "100", "TERM": "dumb", "PATH": "/usr/bin:/bin"},
        )
        lines += ["", f"## metronome {name}", "", "```text", done.stdout.strip("\n"), "```"]
    return "\n".join(lines) + "\n"


def _reference() -> str:
    lines = ["Python modules", "==============", "",
             "The parts that other programs may use. Times are in cycles and sizes in bytes unless stated otherwise.",
             ""]
    for title, modules in MODULES.items():
        lines += [title, "-" * len(title), ""]
        for module in modules:
            options = [f"   :{option}:" for option in ("members", "ignore-module-all", "show-inheritance")]
            lines += [f".. automodule:: {module}", *options, ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
