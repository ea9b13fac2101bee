"""Builds the documentation as a site that needs no network: ``make docs``, in build/docs.

The pages of docs/ stay as a forge shows them. The tables of docs/index.md become the navigation. Pages from other
folders are copied beside them. Generated are the help of every command, the reference of the Python modules, and a few
timelines. At the end, every link of the built pages is checked, and that no page loads anything from a network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote

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
#: The functions and classes of the package itself, under the names by which a program imports them.
FUNCTIONS = ("run", "predict", "trace", "wcet")
CLASSES = ("Options", "BoundOptions", "Result", "Prediction", "BoundResult", "UsageError")
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
#: Members that another module of the reference exports as well.
EXCEPT = {"metronome.sim.run.types": "SimulationError"}
#: Timelines in the site: their files, what they show, and the words after `metronome trace`.
TIMELINES = {
    "psort-lrr.html": ("psort under lrr", "psort --preset BASE --memory dram --issue lrr --engine predict"),
    "psort-gtlo.html": ("the same under gtlo", "psort --preset BASE --memory dram --issue gtlo --engine predict"),
    "psort-lrr-gtlo.html": ("both on one time axis", "--diff psort-lrr.html psort-gtlo.html"),
}
#: Where a page of docs/ lists them; a forge does not show it.
TIMELINES_HERE = "<!-- timelines -->"
#: Where a page of docs/ links the pages that only the site has.
GENERATED_HERE = "<!-- generated pages -->"
GENERATED = """\
Generated for this site:

- [The help of every command](commands.md)
- [Python modules](reference.rst)
"""
SETTINGS = """
import dataclasses
import re

project = "Metronome"
release = {version!r}
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {{".md": "markdown", ".rst": "restructuredtext"}}
exclude_patterns = ["theme/templates"]
templates_path = ["theme/templates"]
root_doc = "index"
myst_heading_anchors = 6
html_theme = "furo"
html_title = "Metronome"
html_static_path = ["theme"]
html_css_files = ["site.css"]
html_favicon = "theme/favicon.svg"
html_extra_path = ["extra"]
html_copy_source = False
html_show_copyright = False
# Without a server, a browser refuses to fetch the texts for it.
html_show_search_summary = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 100
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
default_role = "code"
highlight_language = "none"
suppress_warnings = ["myst.xref_missing"]


def before_napoleon(app, what, name, obj, options, lines):
    # Docstrings name modules as the sources do, without the project's name.
    lines[:] = [re.sub(r"(:[a-z]+:`[~.]?)(hdl|sim|tb|scripts)[.]", r"\\1metronome.\\2.", line) for line in lines]
    # In the first line of an attribute, Napoleon takes the words before a colon for a type.
    if what in ("attribute", "data", "property"):
        lines.insert(0, "\\\\ ")


def after_napoleon(app, what, name, obj, options, lines):
    # A setting has its meaning in the field.
    if dataclasses.is_dataclass(obj):
        about = [(field.name, field.metadata) for field in dataclasses.fields(obj) if "about" in field.metadata]
        units = {{field: f", in {{each['unit']}}" if each["unit"] else "" for field, each in about}}
        lines += ["", *(f"- ``{{field}}``{{units[field]}}: {{each['about']}}" for field, each in about), ""]


def setup(app):
    app.connect("autodoc-process-docstring", before_napoleon, priority=400)
    app.connect("autodoc-process-docstring", after_napoleon, priority=600)
"""
#: Attributes by which an element loads something, by its tag.
_LOADS = {"img": "src", "script": "src", "iframe": "src", "source": "src", "embed": "src", "object": "data"}
_OF_NETWORK = re.compile(r"([a-z]+:)?//")


def main() -> int:
    """Build the site in build/docs."""
    status = build(OUTPUT)
    if status == 0:
        print(f"the site begins at {(OUTPUT / 'html' / 'index.html').relative_to(ROOT)}")
    return status


def build(output: Path) -> int:
    """Write the sources to ``output``, let Sphinx build them, and check the pages: any warning is an error."""
    source, html = output / "source", output / "html"
    shutil.rmtree(output, ignore_errors=True)
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for name, path in OTHERS.items():
        shutil.copy(ROOT / path, source / name)
    for page in source.rglob("*.md"):
        page.write_text(_links(page, source).replace(TIMELINES_HERE, _timelines()).replace(GENERATED_HERE, GENERATED))
    (source / "commands.md").write_text(_commands())
    (source / "reference.rst").write_text(_reference())
    (source / "conf.py").write_text(SETTINGS.format(version=version("metronome")))
    index = source / "index.md"
    index.write_text(index.read_text() + _navigation(index.read_text()))
    _trace(source / "extra" / "timelines")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(source), str(html)]
    status = subprocess.run(command, check=False).returncode
    found = list(problems(html)) if status == 0 else []
    for line in found:
        print(f"docs: {line}", file=sys.stderr)
    return status or bool(found)


def title_of(page: Path) -> str:
    """The first heading of a page."""
    return page.read_text("utf-8").removeprefix("# ").split("\n", 1)[0]


def _links(page: Path, source: Path) -> str:
    """The text of a page, with its links to other pages as they lie in the site.

    A link to code becomes its name, and the name of a page becomes its title.
    """
    origin = OTHERS.get(page.name, f"docs/{page.relative_to(source)}") if page.parent == source else \
        f"docs/{page.relative_to(source)}"
    folder = (ROOT / origin).parent

    def moved(match: re.Match[str]) -> str:
        # The label of a link may be a picture.
        label, link = pattern.sub(moved, match[1]), match[2]
        if re.match(r"[a-z]+:|#", link):
            return f"[{label}]({link})"
        name, _, anchor = link.partition("#")
        target = (folder / name).resolve()
        by_path = {(ROOT / path).resolve(): site for site, path in OTHERS.items()}
        if target in by_path:
            place = source / by_path[target]
        elif target.is_relative_to(ROOT / "docs"):
            place = source / target.relative_to(ROOT / "docs")
        else:
            return label if label.startswith("!") else f"`{target.relative_to(ROOT)}`"
        if re.fullmatch(r"[\w./-]+\.md", label):
            label = title_of(target)
        up = "../" * len(page.relative_to(source).parent.parts)
        return f"[{label}]({up}{place.relative_to(source)}{'#' + anchor if anchor else ''})"

    pattern = re.compile(r"\[((?:!\[[^\]]*\]\([^)]*\)|[^\[\]])*)\]\(([^)\s]+)\)")
    return pattern.sub(moved, page.read_text("utf-8"))


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
            new = list(dict.fromkeys([*new, "commands", "reference", "changelog", "readme"]))
        lines += ["", "```{toctree}", ":hidden:", f":caption: {title}", "", *new, "```"]
    return "\n".join(lines) + "\n"


def _timelines() -> str:
    """A list of the timelines, as a page of the site has it."""
    lines = [
        f'- <a href="timelines/{file}">{title}</a>: `metronome trace {words} -o {file}`'
        for file, (title, words) in TIMELINES.items()
    ]
    return "\n".join(["These timelines are part of the site:", "", *lines])


def _trace(folder: Path) -> None:
    """Draw the timelines in ``folder``."""
    folder.mkdir(parents=True)
    for file, (_, words) in TIMELINES.items():
        command = [sys.executable, "-m", "metronome.scripts.entry", "trace", *words.split(), "-o", file]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"docs: metronome trace {words}: {done.stderr}")


def _commands() -> str:
    """The help of every command."""
    lines = ["# The help of every command", "", "`metronome COMMAND --help` prints the same."]
    group = get_command(app)
    for name in group.commands:  # type: ignore[attr-defined]  # it is a group
        done = subprocess.run(
            [sys.executable, "-m", "metronome.scripts.entry", name, "--help"], capture_output=True, text=True,
            check=True, env={"COLUMNS": "80", "TERM": "dumb", "PATH": "/usr/bin:/bin"},
        )
        lines += ["", f"## metronome {name}", "", "```text", done.stdout.strip("\n"), "```"]
    return "\n".join(lines) + "\n"


def _reference() -> str:
    lines = ["Python modules", "==============", "",
             "The parts that other programs may use. Times are in cycles and sizes in bytes unless stated otherwise.",
             ""]
    lines += ["Functions", "---------", "", ".. currentmodule:: metronome", ""]
    for name in FUNCTIONS:
        lines += [f".. autofunction:: metronome.{name}", ""]
    for name in CLASSES:
        lines += [f".. autoclass:: metronome.{name}", "   :members:", "   :show-inheritance:", ""]
    for title, modules in MODULES.items():
        lines += [title, "-" * len(title), ""]
        for module in modules:
            options = [f"   :{option}:" for option in ("members", "show-inheritance")]
            if module in EXCEPT:
                options.append(f"   :exclude-members: {EXCEPT[module]}")
            lines += [f".. automodule:: {module}", *options, ""]
    return "\n".join(lines)


class _Page(HTMLParser):
    """The names, links, loaded files and style sheets of a built page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self._style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take up what an element names, links to and loads."""
        found = {name: value for name, value in attrs if value}
        self.names |= {found[name] for name in ("id", "name") if name in found}
        self._style = tag == "style"
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and "href" in found:
            loaded = found.get("rel") in ("stylesheet", "icon", "preload", "modulepreload")
            (self.loads if loaded else self.links).append(found["href"])
        elif _LOADS.get(tag) in found:
            self.loads.append(found[_LOADS[tag]])

    def handle_data(self, data: str) -> None:
        """Take up what a style sheet in the page loads."""
        if self._style:
            self.loads += _style_loads(data)


def _style_loads(text: str) -> list[str]:
    return re.findall(r"""(?:url\(|@import)\s*['"]?([^'")\s]+)""", text)


def problems(html: Path) -> Iterator[str]:
    """Links of built pages that lead nowhere, and files that they load from a network or that are not there."""
    pages = {path: _Page(path.read_text("utf-8")) for path in sorted(html.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(html)
        for link in page.links:
            target, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            place = Path(os.path.normpath(path.parent / unquote(target))) if target else path
            if not place.is_file():
                yield f"{name}: there is no {link}"
            elif place in pages and anchor and unquote(anchor) not in pages[place].names:
                yield f"{name}: {link}: there is no such place on that page"
        yield from (f"{name}: {each}" for each in _wrong_loads(path, page.loads))
    for path in sorted(html.rglob("*.css")):
        loads = _style_loads(path.read_text("utf-8"))
        yield from (f"{path.relative_to(html)}: {each}" for each in _wrong_loads(path, loads))


def _wrong_loads(path: Path, loads: list[str]) -> Iterator[str]:
    for load in loads:
        if _OF_NETWORK.match(load):
            yield f"{load} is loaded from a network"
        elif not load.startswith(("data:", "#")) and not (path.parent / unquote(load.split("?")[0])).is_file():
            yield f"there is no {load}"


if __name__ == "__main__":
    sys.exit(main())
