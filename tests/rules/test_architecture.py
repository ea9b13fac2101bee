"""The house rules that a machine can hold: who imports whom, no cycles, nothing that only works on one machine.

Each rule is a function of a folder, so that a test can run it on a small tree in which the rule is broken and see it
complain: a checker that finds nothing because it looks at nothing does not pass.
"""

import ast
import functools
import re
import tomllib
from pathlib import Path

import pytest

from metronome.sim.build.sources import ROOT
from tests.support.source_files import source_files

PACKAGES = ("hdl", "sim", "tb", "riscv_kernels", "scripts", "tests")

#: Under this name the installation puts all packages but tests; the rules here leave it out.
PREFIX = "metronome."

#: Inside hdl, a package imports its own layer and those below it (design.md section 2).
HDL_LAYERS = (
    ("hdl.config", "hdl.config_checks", "hdl.memory_map", "hdl.presets", "hdl.lib", "hdl.isa"),
    ("hdl.layouts",),
    ("hdl.policies", "hdl.frontend", "hdl.issue", "hdl.execute", "hdl.memory", "hdl.observe"),
    ("hdl.sm",),
    ("hdl.bus",),
    ("hdl.verilog", "hdl.board"),
)

#: Which of our packages a package may import; the longest name that fits counts.
MAY_IMPORT = {
    "hdl": ("hdl",),
    "sim": ("sim", "hdl", "riscv_kernels"),
    "sim.machine.golden": ("sim.machine.golden", "sim.machine.memory", "hdl.config"),
    # The machine's time as a specification: it knows the configuration and the instruction set, nothing else.
    "sim.predict.model": ("sim.predict.model", "sim.build.cache", "sim.build.sources", "hdl.config", "hdl.isa"),
    # What measures from outside knows no predictor: who executes the programs is handed in.
    "sim.studies.characterize": ("sim.studies.characterize", "sim.program.assembler.asm", "sim.machine.memory", "hdl.config", "hdl.isa.csrs"),
    "sim.studies.models": ("sim.studies.models", "sim.studies.characterize", "sim.predict.model", "sim.machine.memory", "sim.run.types", "hdl"),
    "riscv_kernels": ("riscv_kernels", "hdl.config"),
    "tb": ("tb", "sim", "hdl"),
    "scripts": ("scripts", "tb", "sim", "hdl", "riscv_kernels"),
    "tests": PACKAGES,
}

#: Whoever observes does not steer: in hdl, only the top connects the observers.
OBSERVERS, THEIR_USER = "hdl.observe", "hdl.sm"

Graph = dict[str, set[str]]


def inside(module: str, package: str) -> bool:
    """Whether ``module`` is ``package`` or lies in it."""
    return module == package or module.startswith(package + ".")


def module_name(root: Path, path: Path) -> str:
    """``root/hdl/isa/__init__.py`` -> ``hdl.isa``."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST, module: str, is_package: bool, modules: set[str]) -> set[str]:
    """Every module of ours that ``tree`` imports, anywhere in it: in functions and under TYPE_CHECKING too."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.removeprefix(PREFIX) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = (node.module or "").removeprefix(PREFIX)
            if node.level:
                parts = module.split(".")
                parts = parts[: len(parts) - node.level + is_package]
                base = ".".join([*parts, base] if base else parts)
            # `from package import name` reaches the module package.name where there is one.
            found |= {f"{base}.{alias.name}" if f"{base}.{alias.name}" in modules else base for alias in node.names}
    return {name for name in found if name.split(".")[0] in PACKAGES}


def import_graph(root: Path) -> Graph:
    """Module -> the modules of ours that it imports."""
    paths = {module_name(root, path): path for package in PACKAGES for path in (root / package).rglob("*.py")}
    return {
        module: imported(ast.parse(path.read_text("utf-8")), module, path.name == "__init__.py", set(paths))
        for module, path in paths.items()
    }


def imports_by_folder(root: Path) -> list[str]:
    """Imports of our packages by their folder's name, which works in a checkout only and takes the user's own."""
    found = []
    ours = PACKAGES[:-1]
    for path in [path for folder in (*ours, "tests") for path in (root / folder).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            found += [f"{path.relative_to(root)}:{node.lineno}: {name}" for name in names if name.split(".")[0] in ours]
    return found


def layer(module: str) -> int | None:
    """The position in HDL_LAYERS; None for the bare package ``hdl``."""
    return next((n for n, names in enumerate(HDL_LAYERS) if any(inside(module, name) for name in names)), None)


def direction_violations(graph: Graph) -> list[str]:
    """Imports against the direction that design.md section 2 states."""
    found = []
    for module, targets in graph.items():
        key = max((name for name in MAY_IMPORT if inside(module, name)), key=len)
        for target in targets:
            mine, theirs = layer(module), layer(target)
            if not any(inside(target, allowed) for allowed in MAY_IMPORT[key]):
                found.append(f"{module} imports {target}: {key} may import only {', '.join(MAY_IMPORT[key])}")
            elif inside(module, "hdl") and mine is not None and (theirs is None or theirs > mine):
                found.append(f"{module} imports {target}, which is a layer above it")
    return sorted(found)


def observer_users(graph: Graph) -> list[str]:
    """Imports of the observers within hdl by others than the top and each other."""
    others = {module for module in graph if inside(module, "hdl") and not inside(module, OBSERVERS)} - {THEIR_USER}
    return sorted(
        f"{module} imports {target}" for module in others for target in graph[module] if inside(target, OBSERVERS)
    )


def unplaced_modules(graph: Graph) -> list[str]:
    """Modules of hdl that no layer names: whoever adds a package there decides where it stands."""
    return sorted(module for module in graph if inside(module, "hdl") and module != "hdl" and layer(module) is None)


def reached(graph: Graph, package: str) -> set[str]:
    """The modules of ``package`` and everything of ours that they import, directly or not."""
    found: set[str] = set()
    waiting = [module for module in graph if inside(module, package)]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += graph.get(module, ())
    return found


def import_cycle(graph: Graph) -> list[str]:
    """One cycle of imports, its first module repeated at the end; empty if there is none."""
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module not in done:
            for target in sorted(graph.get(module, ())):
                if cycle := visit(target, [*path, module]):
                    return cycle
            done.add(module)
        return []

    return next((cycle for module in sorted(graph) if (cycle := visit(module, []))), [])


# Written so that this file does not match itself.
LOCAL_TEXT = {
    "an absolute path of one machine": re.compile(r"(?<![\w.])/(?:home|root|Users|work|opt|mnt)/[\w.]|[A-Z]:\\Users"),
    "the host of a package registry": re.compile(
        r"\b(?:pypi|crates|proxy\.golang|anaconda)\.(?:org|io|python)\b|pythonhosted\.|registry\.npmjs", re.IGNORECASE
    ),
}


def local_text(root: Path) -> list[str]:
    """Lines of tracked text files that only make sense on one machine."""
    found = []
    for path in source_files(root):
        try:
            lines = path.read_text("utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            whats = [what for what, pattern in LOCAL_TEXT.items() if pattern.search(line)]
            found += [f"{path.relative_to(root)}:{number}: {what}" for what in whats]
    return found


@functools.cache
def our_graph() -> Graph:
    return import_graph(ROOT)


def write_tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


def test_imports_follow_the_direction():
    assert direction_violations(our_graph()) == []


def test_the_golden_model_knows_nothing_of_the_hardware_but_its_sizes():
    sizes = {"hdl.config", "hdl.config_checks", "hdl.memory_map"}
    assert {module for module in reached(our_graph(), "sim.machine.golden") if inside(module, "hdl")} == sizes
    known = {module for module in reached(our_graph(), "sim.predict.model") if inside(module, "hdl")}
    assert known == sizes | {"hdl.isa.csrs", "hdl.isa.ops", "hdl.isa.table"}


def test_only_the_top_imports_the_observers():
    graph = our_graph()
    assert observer_users(graph) == []
    assert any(inside(target, OBSERVERS) for target in graph[THEIR_USER]), "nobody uses them: the rule looks at nothing"


def test_a_unit_that_imports_an_observer_is_reported(tmp_path):
    files = {
        "hdl/sm.py": "from .observe.watch import Sticky", "hdl/observe/watch.py": "from .counters import Counters",
        "hdl/observe/counters.py": "", "tb/model.py": "import metronome.hdl.observe.watch",
        "hdl/frontend/a.py": "def f():\n    from ..observe.counters import Counters",
    }
    assert observer_users(import_graph(write_tree(tmp_path, files))) == [
        "hdl.frontend.a imports hdl.observe.counters",
    ]


def test_every_hdl_module_has_a_layer():
    assert unplaced_modules(our_graph()) == []


def test_our_packages_are_imported_under_our_name():
    assert imports_by_folder(ROOT) == []


def test_an_import_by_folder_is_reported(tmp_path):
    right = "import metronome.hdl.sm\nfrom . import b\nfrom .hdl import c\n"
    files = {"sim/a.py": right, "tests/test_b.py": "import hdl.sm"}
    assert imports_by_folder(write_tree(tmp_path, files)) == ["tests/test_b.py:1: hdl.sm"]


def test_the_installation_has_all_packages():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    kinds = {".py", ".c", ".S", ".cpp", ".ld"}
    files = [path.relative_to(ROOT) for path in source_files(ROOT) if path.suffix in kinds]
    names = {PREFIX + ".".join(path.parent.parts) for path in files if path.parts[0] in PACKAGES[:-1]}
    assert sorted(names) == listed


def test_no_import_cycle():
    assert import_cycle(our_graph()) == []


def test_tracked_text_is_not_tied_to_a_machine():
    assert local_text(ROOT) == []


def test_the_graph_is_of_this_repository():
    graph = our_graph()
    assert "hdl.config" in graph["hdl.presets"]
    assert "scripts.options.common" in graph["scripts.commands.run"]
    assert {module.split(".")[0] for module in graph} == set(PACKAGES)


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("hdl/config.py", "import sim.program.assembler.asm"),
        ("hdl/lib/parts.py", "from ..layouts import probe"),
        ("hdl/layouts/probe.py", "from ..sm import Sm"),
        ("hdl/execute/alu.py", "from hdl import sm"),
        ("hdl/execute/alu.py", "def f():\n    from hdl.verilog import generate"),
        ("hdl/execute/alu.py", "import hdl"),
        ("hdl/sm.py", "if TYPE_CHECKING:\n    import tb.kernel"),
        ("hdl/sm.py", "from riscv_kernels import psort"),
        ("sim/program/assembler/asm.py", "import tb"),
        ("sim/program/assembler/asm.py", "from scripts.cli import main"),
        ("sim/iss/run.py", "from hdl.isa import ops"),
        ("sim/iss/run.py", "import sim.run.runner"),
        ("riscv_kernels/psort/host.py", "import hdl.sm"),
        ("tb/kernel.py", "import scripts"),
        ("sim/program/assembler/asm.py", "from tests.support import thing"),
    ],
)
def test_a_wrong_import_is_reported(tmp_path, module, line):
    allowed = {
        "hdl/layouts/probe.py": "from ..config import SmConfig\n",
        "hdl/sm.py": "from .layouts import probe\nfrom .execute.alu import Alu\n",
        "sim/iss/run.py": "from hdl.config import SmConfig\nfrom ..memory.store import SparseMemory\n",
        "tb/kernel.py": "import sim.program.assembler.asm\nimport hdl.sm\n",
        "scripts/cli.py": "import tb.kernel\nimport riscv_kernels.psort.host\n",
    }
    assert direction_violations(import_graph(write_tree(tmp_path / "good", allowed))) == []
    files = {**allowed, "hdl/layouts/probe.py": "", "hdl/sm.py": "", module: line + "\n"}
    found = direction_violations(import_graph(write_tree(tmp_path / "bad", files)))
    assert len(found) == 1
    assert found[0].startswith(module.removesuffix(".py").replace("/", ".") + " imports ")


def test_what_is_reached_through_others_is_found(tmp_path):
    files = {"sim/iss/a.py": "from ..memory import b", "sim/memory/b.py": "import hdl.sm", "hdl/sm.py": ""}
    graph = import_graph(write_tree(tmp_path, {**files, "sim/c.py": "import sim.machine.golden.a"}))
    assert reached(graph, "sim.machine.golden") == {"sim.machine.golden.a", "sim.machine.memory.b", "hdl.sm"}


def test_an_unplaced_module_is_reported(tmp_path):
    graph = import_graph(write_tree(tmp_path, {"hdl/__init__.py": "", "hdl/extra/thing.py": "", "hdl/sm.py": ""}))
    assert unplaced_modules(graph) == ["hdl.extra.thing"]


@pytest.mark.parametrize(
    "files",
    [
        {"sim/a.py": "import sim.b", "sim/b.py": "import sim.c", "sim/c.py": "from . import a"},
        {"sim/a.py": "from .b import x", "sim/b.py": "def f():\n    from sim import a"},
        {"sim/pack/__init__.py": "from .a import x", "sim/pack/a.py": "from ..pack import y"},
    ],
)
def test_a_cycle_is_reported(tmp_path, files):
    cycle = import_cycle(import_graph(write_tree(tmp_path, files)))
    assert len(cycle) == len(files) + 1
    assert cycle[0] == cycle[-1]


def test_imports_without_a_cycle_are_accepted(tmp_path):
    files = {"sim/a.py": "import sim.b\nimport sim.c", "sim/b.py": "from . import c", "sim/c.py": "import os"}
    assert import_cycle(import_graph(write_tree(tmp_path, files))) == []


@pytest.mark.parametrize(
    "text",
    ["see /" + "home/me/x", "path = '/" + "root/.cache'", "(/" + "Users/me)", "https://py" + "pi.org/simple",
     "https://files.python" + "hosted.org/a"],
)
def test_local_text_is_reported(tmp_path, text):
    write_tree(tmp_path, {"a.md": "fine\nfrom PyPI, in build/work/x and a.opt/b\n", "docs/b.md": f"one\n{text}\n"})
    found = local_text(tmp_path)
    assert len(found) == 1
    assert found[0].startswith("docs/b.md:2: ")
