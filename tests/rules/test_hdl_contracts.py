"""House rules of the hardware's text that a machine can hold: contracts of classes and ports, sizes of what is read.

Each rule is a function of a folder, so that a test can run it on a small tree in which the rule is broken.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from metronome.sim.build.sources import ROOT

#: Up to so many ports a docstring may describe; of more, each has a comment of its own.
PORTS_IN_A_DOCSTRING = 4
#: The longest `elaborate` and the longest file, in lines.
ELABORATE_LINES = 59
FILE_LINES = 350

Scope = ast.ClassDef | ast.FunctionDef


@dataclass(frozen=True)
class Port:
    """A call of ``In`` or ``Out``: where it is written, its name if that is a literal, and whose port it is."""

    line: int
    last_line: int
    name: str
    scope: Scope


def sources(root: Path, *folders: str) -> Iterator[tuple[str, str]]:
    """The name below ``root`` and the text of every Python file in the folders."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            yield str(path.relative_to(root)), path.read_text("utf-8")


def classes_without_docstring(root: Path) -> list[str]:
    """Public classes of hdl that do not say what they are."""
    return [
        f"{name}:{node.lineno}: class {node.name} has no docstring"
        for name, text in sources(root, "hdl") for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]


def is_port(node: ast.AST) -> bool:
    """Whether this is ``In(...)`` or ``Out(...)``, perhaps with ``.array(...)`` behind it."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "array":
        return is_port(node.func.value)
    return isinstance(node.func, ast.Name) and node.func.id in {"In", "Out"}


def entries(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Name and value of what ``node`` puts into a dict: a literal, a comprehension, or an assignment to one key."""
    if isinstance(node, ast.Dict):
        yield from ((key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None)
    elif isinstance(node, ast.DictComp):
        yield node.key, node.value
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        yield node.targets[0].slice, node.value


def ports_of(tree: ast.Module) -> Iterator[Port]:
    """Every port that a file declares, with the class or the function at the top level that it belongs to."""
    for scope in tree.body:
        if isinstance(scope, Scope):
            for node in ast.walk(scope):
                for key, value in entries(node):
                    if is_port(value):
                        name = key.value if isinstance(key, ast.Constant) else ""
                        yield Port(key.lineno, value.end_lineno or key.lineno, name, scope)


def has_comment(port: Port, lines: list[str], ports: Counter[int]) -> bool:
    """A comment behind the port, if it is alone on its lines, or lines that begin with ``#:`` directly above it."""
    alone = all(ports[number] <= 1 for number in range(port.line, port.last_line + 1))
    behind = "  # " in lines[port.last_line - 1].replace("  # type:", "")
    return (behind and alone) or lines[port.line - 2].lstrip().startswith("#: ")


def undescribed_ports(root: Path) -> list[str]:
    """Ports of hdl without their contract."""
    found = []
    for name, text in sources(root, "hdl"):
        lines = text.splitlines()
        ports = list(ports_of(ast.parse(text)))
        on_line = Counter(number for port in ports for number in range(port.line, port.last_line + 1))
        of_scope = Counter(port.scope for port in ports)
        for port in ports:
            told = f"``{port.name}``" in (ast.get_docstring(port.scope) or "") and port.name != ""
            few = of_scope[port.scope] <= PORTS_IN_A_DOCSTRING
            if not has_comment(port, lines, on_line) and not (told and few):
                which = port.name or "(computed)"
                found.append(f"{name}:{port.line}: port {which} of {port.scope.name} is not described")
    return found


def fields_of(node: ast.stmt) -> list[ast.AnnAssign]:
    """The fields of a dataclass; none of anything else."""
    if not isinstance(node, ast.ClassDef) or not any("dataclass" in ast.unparse(one) for one in node.decorator_list):
        return []
    return [field for field in node.body if isinstance(field, ast.AnnAssign)]


def undescribed_fields(root: Path) -> list[str]:
    """Fields of the dataclasses of hdl without a comment or a meaning: configuration, ISA's table, counters, .."""
    found = []
    for name, text in sources(root, "hdl"):
        lines = text.splitlines()
        for scope in ast.parse(text).body:
            for field in fields_of(scope):
                port = Port(field.lineno, field.end_lineno or field.lineno, "", scope)
                says = isinstance(field.value, ast.Call) and ast.unparse(field.value.func) == "setting"
                if not says and not has_comment(port, lines, Counter()):
                    found.append(f"{name}:{field.lineno}: field {ast.unparse(field.target)} is not described")
    return found


def long_elaborates(root: Path) -> list[str]:
    """Methods ``elaborate`` that are too long to read at once."""
    found = []
    for name, text in sources(root, "hdl"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name == "elaborate":
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > ELABORATE_LINES:
                    found.append(f"{name}:{node.lineno}: elaborate has {length} lines")
    return found


def long_files(root: Path) -> list[str]:
    """Files that are too long."""
    lengths = [(name, text.count("\n")) for name, text in sources(root, "hdl", "sim", "tb", "scripts", "tests")]
    return [f"{name} has {length} lines" for name, length in lengths if length > FILE_LINES]


def write(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return root


def test_every_public_class_has_a_docstring():
    assert classes_without_docstring(ROOT) == []


def test_every_port_is_described():
    assert undescribed_ports(ROOT) == []


def test_every_field_of_a_dataclass_is_described():
    assert undescribed_fields(ROOT) == []


def test_elaborate_is_short():
    assert long_elaborates(ROOT) == []


def test_files_are_short():
    assert long_files(ROOT) == []


def test_the_ports_are_those_of_this_repository():
    ports = {port.name for _, text in sources(ROOT, "hdl") for port in ports_of(ast.parse(text))}
    assert {"mem", "resolution", "activation", "fault", "select"} <= ports


def test_a_class_without_docstring_is_reported(tmp_path):
    text = 'class A:\n    """What it is."""\n\n\nclass _B:\n    pass\n\n\nclass C(A):\n    x = 1\n'
    assert classes_without_docstring(write(tmp_path, "hdl/a.py", text)) == ["hdl/a.py:9: class C has no docstring"]


PORTS = '''
class A(Component):
    """{about}"""

    def __init__(self):
        members = {{
{ports}
        }}
        {more}
        super().__init__(members)
'''


def ports_tree(tmp_path: Path, *ports: str, about: str = "A part.", more: str = "") -> list[str]:
    text = PORTS.format(about=about, ports="\n".join(" " * 12 + port for port in ports), more=more)
    return [re.sub(r"^\S+ ", "", line) for line in undescribed_ports(write(tmp_path, "hdl/a.py", text))]


@pytest.mark.parametrize(
    ("ports", "about"),
    [
        (['"a": In(1),  # bits'], ""),
        (["#: Bits.", '"a": Out(1).array(2),'], ""),
        (["#: Bits,", "#: and more of them.", '"a": In(stream.Signature(', "    1)),"], ""),
        (['"a": In(Layout({', '    "field": 3,', "})),  # a record"], ""),
        (['"a": In(1),', '"b": Out(1),'], "``a`` and ``b``."),
        (["#: One a warp.", '**{name: In(1) for name in "ab"},'], ""),
        (['"a": 7,'], ""),
    ],
)
def test_a_described_port_is_accepted(tmp_path, ports, about):
    assert ports_tree(tmp_path, *ports, about=about) == []


@pytest.mark.parametrize(
    ("ports", "about", "names"),
    [
        (['"a": In(1),'], "", "a"),
        (['"a": In(1),'], "a is `a`.", "a"),
        (["# Bits.", '"a": In(1),'], "", "a"),
        (["#: Bits.", "", '"a": In(1),'], "", "a"),
        (['"a": In(1), "b": In(1),  # bits'], "", "ab"),
        (["#: Bits.", '"a": In(1),', '"b": Out(1),'], "", "b"),
        (['"a": Out(1, init=3),  # type: ignore[call-arg]'], "", "a"),
        ([f'"{name}": In(1),' for name in "abcde"], "``a`` ``b`` ``c`` ``d`` ``e``", "abcde"),
        (["**{name: In(1) for name in names},"], "``name``", ["(computed)"]),
        (['"a": Out(Signature({', '    "b": In(1),', "})),  # a bus"], "", "ab"),
    ],
)
def test_a_port_without_description_is_reported(tmp_path, ports, about, names):
    expected = [f"port {name} of A is not described" for name in names]
    assert sorted(ports_tree(tmp_path, *ports, about=about)) == expected


def test_a_port_that_is_added_later_needs_a_description_too(tmp_path):
    assert ports_tree(tmp_path, more='members["late"] = In(1)') == ["port late of A is not described"]
    assert ports_tree(tmp_path, more='members["late"] = In(1)  # so late') == []


def test_a_field_without_description_is_reported(tmp_path):
    fields = "class A:\n    a: int = 1  # so many\n    #: The second.\n    b: int = 2\n    c: int = 3\n    D = 4\n"
    write(tmp_path, "hdl/other.py", fields)
    assert undescribed_fields(write(tmp_path, "hdl/a.py", f"@dataclass(frozen=True)\n{fields}")) == [
        "hdl/a.py:6: field c is not described",
    ]


@pytest.mark.parametrize(("lines", "reported"), [(57, False), (58, True)])
def test_a_long_elaborate_is_reported(tmp_path, lines, reported):
    body = "        x = 1\n" * lines
    text = f"class A:\n    def elaborate(self, platform):\n        m = Module()\n{body}"
    found = long_elaborates(write(tmp_path, "hdl/a.py", text))
    assert found == (["hdl/a.py:2: elaborate has 60 lines"] if reported else [])


@pytest.mark.parametrize("folder", ["hdl", "sim", "tb", "scripts", "tests"])
def test_a_long_file_is_reported(tmp_path, folder):
    write(tmp_path, f"{folder}/parts/fits.py", "x = 1\n" * 350)
    write(tmp_path, f"{folder}/parts/long.py", "x = 1\n" * 351)
    assert long_files(tmp_path) == [f"{folder}/parts/long.py has 351 lines"]
