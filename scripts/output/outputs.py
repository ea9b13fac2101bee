"""Files that a subcommand writes: refused early if they cannot be written, and whole or not at all."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..process.errors import UsageError

__all__ = ["STANDARD_OUTPUT", "STDOUT", "refuse_folder", "refuse_format", "refuse_inputs", "refuse_shared",
           "require_writable", "warn_of_others", "waves", "write_file", "write_json"]

#: As the file of --json: standard output.
STDOUT = "-"
#: Standard output among the files of a command line (:func:`refuse_shared`).
STANDARD_OUTPUT = ("standard output", Path("/dev/stdout"))

#: Ends of names that promise a format. A file with one of these is of that format, or is refused.
#: Any other end (``page.old``, ``psort.2``) is part of the name and promises nothing.
_FORMATS = frozenset((
    ".7z", ".arrow", ".bin", ".bit", ".bmp", ".bz2", ".csv", ".db", ".doc", ".docx", ".dot", ".duckdb", ".elf",
    ".eps", ".feather", ".fst", ".gif", ".gz", ".h5", ".hdf5", ".hex", ".htm", ".html", ".ihex", ".jpeg", ".jpg",
    ".json", ".jsonl", ".kanata", ".log", ".mat", ".md", ".mem", ".mhtml", ".ndjson", ".npy", ".npz", ".o", ".ods",
    ".odt", ".orc", ".parquet", ".pdf", ".pftrace", ".pickle", ".pkl", ".png", ".ppt", ".pptx", ".ps", ".rst", ".rtf",
    ".so", ".sqlite", ".sqlite3", ".srec", ".sv", ".svg", ".svgz", ".tar", ".tex", ".tgz", ".tif", ".tiff", ".toml",
    ".tsv", ".txt", ".v", ".vcd", ".vhd", ".vhdl", ".webp", ".xhtml", ".xls", ".xlsx", ".xml", ".xz", ".yaml", ".yml",
    ".zip", ".zst",
))


def refuse_format(name: str, option: str, formats: Sequence[str]) -> None:
    """Refuse an output whose name promises a format that it will not have.

    Parameters
    ----------
    formats
        The ends of names that fit, the usual one first; without any, the output is a folder.

    Raises
    ------
    UsageError
        Naming the option, the file and what it can be.
    """
    suffix = Path(name).suffix.lower()
    if suffix not in _FORMATS or suffix in formats:
        return
    can = f"a file whose name ends in {' or '.join(formats)}" if formats else "a folder: name one without such an end"
    raise UsageError(f"{option}: cannot write {name!r}: it is {can}")


def refuse_folder(name: str) -> None:
    """Refuse standard output, and a name that promises a format, for a folder of ``--output``.

    Raises
    ------
    UsageError
        Naming the folder and the reason.
    """
    if name == STDOUT:
        raise UsageError("--output: cannot write '-': a folder does not go to standard output: name one")
    refuse_format(name, "--output", ())


def _is_special(path: Path) -> bool:
    """Whether ``path`` is there and is no regular file: a device or a pipe, which is written in place."""
    return path.exists() and not path.is_file()


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def require_writable(name: str, option: str, *formats: str) -> Path:
    """The path of an output file, tried out now: a long simulation must not end in a file that cannot be written.

    With ``formats``, a name that promises another one is refused (:func:`refuse_format`).

    Raises
    ------
    UsageError
        Naming the option, the file and the reason.
    """
    if formats:
        refuse_format(name, option, formats)
    path = Path(name).expanduser()
    try:
        if not name:
            raise OSError(0, "the name is empty")
        if name == STDOUT:
            raise OSError(0, "it does not go to standard output: name a file")
        if path.is_dir():
            raise OSError(0, "it is a folder")
        if not _is_special(path):
            path = path.resolve()
            probe = _temporary(path)
            probe.touch()
            probe.unlink()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"{option}: cannot write {name!r}: {reason}") from None
    return path


def _is_same(first: Path, second: Path) -> bool:
    """Whether both name one file, be it by a symbolic or a hard link; they need not be there."""
    if os.path.realpath(first) == os.path.realpath(second):
        return True
    try:
        return first.samefile(second)
    except OSError:  # one of them is not there
        return False


def refuse_shared(outputs: Iterable[tuple[str, Path]], others: Iterable[tuple[str, Path]]) -> None:
    """Refuse an output that would overwrite another file of the same command line.

    Parameters
    ----------
    outputs
        What each is in words, and its path. The null device may be there any number of times.
    others
        As ``outputs``: the inputs, and the output that is written in any case.

    Raises
    ------
    UsageError
        For an output that is one of ``others`` or an output before it.
    """
    taken = list(others)
    for name, path in outputs:
        if _is_same(path, Path(os.devnull)):
            continue
        for other, file in taken:
            if _is_same(path, file):
                raise UsageError(f"{name}: {path.name} is already the file of {other}")
        taken.append((name, path))


def waves() -> list[tuple[str, Path]]:
    """The file that METRONOME_WAVES asks for, an output of whatever simulates: as for :func:`refuse_shared`."""
    name = os.environ.get("METRONOME_WAVES")
    return [("METRONOME_WAVES", Path(name).absolute())] if name else []


def refuse_inputs(
    target: Path | None, inputs: Mapping[str, str | Path | None], others: Iterable[tuple[str, Path]] = ()
) -> None:
    """Refuse an output that would overwrite one of the inputs: what each is in words, and its file if there is one.

    The outputs are --json and ``others``.
    """
    files = [(name, Path(file).expanduser()) for name, file in inputs.items() if file]
    refuse_shared([*([] if target is None else [("--json", target)]), *others], [*files, STANDARD_OUTPUT])


def write_file(path: Path, data: bytes) -> None:
    """Write ``data`` so that nobody ever sees half of it.

    Raises
    ------
    UsageError
        If the file cannot be written after all.
    """
    try:
        if _is_special(path):
            path.write_bytes(data)
            return
        temporary = _temporary(path)
        try:
            temporary.write_bytes(data)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def warn_of_others(what: str, records: Iterable[Mapping[str, Any] | None]) -> None:
    """Say on standard error which of the results ``what`` that are read back another version has made."""
    from metronome.sim.build.origin import difference

    for words in dict.fromkeys(difference(record) for record in records):
        if words is not None:
            print(f"metronome: note: {what}: {words}", file=sys.stderr)


def write_json(target: Path | None, value: Any) -> None:
    """Write ``value`` as JSON to a file, or to standard output where ``target`` is None.

    A document of results says where it comes from: its ``origin``. A list says what there is, and has none.
    """
    if isinstance(value, Mapping):
        from metronome.sim.build.origin import origin

        value = {**value, "origin": origin()}
    text = json.dumps(value, indent=2, allow_nan=False) + "\n"
    if target is None:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_file(target, text.encode())
