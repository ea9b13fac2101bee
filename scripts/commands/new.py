"""``metronome new``: a template for a new kernel, policy or submission."""

from __future__ import annotations

import ast
import importlib.machinery
import keyword
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from metronome import tb
from metronome.riscv_kernels import skeleton
from metronome.sim.machine.user_paths import user_path
from metronome.sim.studies import course as course_kit

from ..output.outputs import write_file
from ..process.errors import Exit, UsageError

__all__ = ["new"]

_FILES = ("kernel.c", "host.py")


def new(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The folder to create, or the name of the file."),
    ],
    policy: Annotated[
        bool, typer.Option("--policy", help="Write a warp policy instead of a kernel: NAME.py and test_NAME.py.")
    ] = False,
    course: Annotated[
        bool, typer.Option("--course", help="Write the skeleton of the course's assignment: NAME.py.")
    ] = False,
) -> int:
    """Write a folder with a kernel that passes: kernel.c for the machine, host.py for its inputs and its check.

    With --policy, write a warp policy that works: NAME.py for all commands that take --issue, and a test of it. With
    --course, write the two policies of the assignment, which a student completes: NAME.py for metronome grade.
    """
    if policy and course:
        raise UsageError("--policy and --course write different files: take one of them")
    if policy:
        return _new_policy(name)
    if course:
        return _new_submission(name)
    from metronome.sim.program.kernel_folders import KERNELS

    folder = user_path(name)
    if name in KERNELS:
        raise UsageError(f"{name} is a kernel of Metronome: choose another name")
    if not name or folder.name.startswith("-") or "\0" in name:
        raise UsageError(f"NAME: {name!r} is not a valid name for a folder")
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{name} already exists: choose another name")
    source = Path(skeleton.__file__).parent
    try:
        # Write both files or neither.
        with tempfile.TemporaryDirectory(prefix=".metronome-new-", dir=folder.parent) as made:
            for file in _FILES:
                shutil.copyfile(source / file, Path(made) / file)
            whole = Path(made) / "whole"
            whole.mkdir()
            for file in _FILES:
                (Path(made) / file).rename(whole / file)
            whole.rename(folder)
    except OSError as error:
        raise UsageError(f"cannot make {name}: {error.strerror}") from None
    shown = name if len(folder.parts) > 1 or name != folder.name else f"./{name}"
    print(f"{name}/kernel.c and {name}/host.py written. Run them: metronome run {shlex.quote(shown)} --check")
    return Exit.PASSED


def _module_path(name: str) -> Path:
    """The path of the new file ``name``, without its suffix. UsageError if Python could not import it."""
    path = user_path(name.removesuffix(".py"))
    stem = path.name
    if not stem.isidentifier() or keyword.iskeyword(stem) or not stem.isascii():
        raise UsageError(f"NAME: {stem!r} is not a valid name for a policy: use letters, digits and underscores, "
                         "such as mine")
    return path


def _new_submission(name: str) -> int:
    path = _module_path(name)
    file = path.with_name(f"{path.name}.py")
    if file.exists() or file.is_symlink():
        raise UsageError(f"{file} already exists: choose another name")
    source = Path(course_kit.__file__).with_name("skeleton.py").read_text("utf-8")
    write_file(file, source.replace("mine.py", file.name).encode())
    print(f"{file} written. Grade it: metronome grade {shlex.quote(str(file))}")
    return Exit.PASSED


def _is_installed(module: str) -> bool:
    """Whether Python finds a module of this name outside the current folder."""
    here = Path().resolve()
    folders = [folder for folder in sys.path if Path(folder).resolve() != here]
    return importlib.machinery.PathFinder.find_spec(module, folders) is not None


def _names_in(file: Path) -> set[str]:
    """The names that a skeleton uses, except that of its policy."""
    tree = ast.parse(file.read_text("utf-8"))
    nodes = list(ast.walk(tree))
    imported = [alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    return (
        {node.id for node in nodes if isinstance(node, ast.Name)} | {each.asname or each.name for each in imported}
        | {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    ) - {"Mine"}


def _new_policy(name: str) -> int:
    path = _module_path(name)
    stem = path.name
    if stem in sys.stdlib_module_names or stem in sys.builtin_module_names or _is_installed(stem):
        raise UsageError(
            f"NAME: {stem} is the name of a Python module, which {stem}.py would hide: choose another name"
        )
    class_name = "".join(word[:1].upper() + word[1:] for word in stem.split("_")) or stem
    skeletons = Path(tb.__file__).parent / "skeleton"
    if stem.startswith("_"):
        raise UsageError(f"NAME: {stem!r} begins with an underscore, as base classes do: use a name such as mine")
    if class_name in _names_in(skeletons / "policy.py") or class_name.endswith("Hardware"):
        class_name += "Policy"
    files = {path.with_name(f"{stem}.py"): "policy.py", path.with_name(f"test_{stem}.py"): "test_policy.py"}
    for file in files:
        if file.exists() or file.is_symlink():
            raise UsageError(f"{file} already exists: choose another name")
    try:
        for file, source in files.items():
            text = (skeletons / source).read_text()
            text = text.replace("mine.py", f"{stem}.py").replace("test_mine", f"test_{stem}")
            write_file(file, text.replace("Mine", class_name).encode())
    except BaseException:
        for file in files:
            file.unlink(missing_ok=True)
        raise
    shown = shlex.quote(f"{'' if path.parent.parts else './'}{path.with_name(stem + '.py')}")
    print(f"{path.with_name(stem + '.py')} and its test written. Try them:\n"
          f"  metronome predict psort --issue {shown}\n  metronome run psort --issue {shown} --check")
    return Exit.PASSED
