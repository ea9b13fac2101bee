"""Output files of a subcommand: refused early if they cannot be written, and written completely or not at all."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from metronome.sim.machine.user_paths import user_path

from ..process.errors import UsageError

__all__ = ["STANDARD_OUTPUT", "STDOUT", "refuse_folder", "refuse_format", "refuse_inputs", "refuse_shared",
           "require_writable", "warn_of_others", "waves", "write_file", "write_json"]

#: As the file of --json: standard output.
STDOUT = "-"
#: Standard output among the files of a command line (:func:`refuse_shared`).
STANDARD_OUTPUT = ("standard output", Path("/dev/stdout"))

#: Suffixes that promise a format: a file with one of these has that format, or is refused.
#: Any other suffix (``page.old``, ``psort.2``) is part of the name and selects no format.
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
    """Refuse an output whose suffix promises a format that it will not have.

    Parameters
    ----------
    formats
        The valid suffixes, the usual one first; if there are none, the output is a folder.

    Raises
    ------
    UsageError
        With the option, the file and the valid formats.
    """
    suffix = Path(name).suffix.lower()
    if suffix not in _FORMATS or suffix in formats:
        return
    why = f"its name must end in {' or '.join(formats)}" if formats else "it is a folder: name one without this suffix"
    raise UsageError(f"{option}: cannot write {name!r}: {why}")


def refuse_folder(name: str) -> None:
    """Refuse standard output, and a name that promises a format, as a folder of ``--output``.

    Raises
    ------
    UsageError
        With the folder and the reason.
    """
    if name == STDOUT:
        raise UsageError("--output: cannot write '-': a folder cannot be written to standard output: name one")
    refuse_format(name, "--output", ())


def _is_special(path: Path) -> bool:
    """Return whether ``path`` exists but is not a regular file: a device or a pipe, which is written in place."""
    return path.exists() and not path.is_file()


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def require_writable(name: str, option: str, *formats: str) -> Path:
    """Return the path of an output file after checking now that it is writable, not after a long simulation.

    With ``formats``, a name that promises another one is refused (:func:`refuse_format`).

    Raises
    ------
    UsageError
        With the option, the file and the reason.
    """
    if formats:
        refuse_format(name, option, formats)
    path = user_path(name)
    try:
        if not name:
            raise OSError(0, "the name is empty")
        if name == STDOUT:
            raise OSError(0, "it cannot be written to standard output: name a file")
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
    """Return whether both names refer to one file, also through symbolic or hard links; neither needs to exist."""
    if os.path.realpath(first) == os.path.realpath(second):
        return True
    try:
        return first.samefile(second)
    except OSError:  # one of them does not exist
        return False


def refuse_shared(outputs: Iterable[tuple[str, Path]], others: Iterable[tuple[str, Path]]) -> None:
    """Refuse an output that would overwrite another file of the same command line.

    Parameters
    ----------
    outputs
        Description and path of each. The null device may occur any number of times.
    others
        Like ``outputs``: the inputs, and the output that is always written.

    Raises
    ------
    UsageError
        For an output that is one of ``others`` or an earlier output.
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
    """Return the file of METRONOME_WAVES, an output of every command that simulates, for :func:`refuse_shared`."""
    name = os.environ.get("METRONOME_WAVES")
    return [("METRONOME_WAVES", Path(name).absolute())] if name else []


def refuse_inputs(
    target: Path | None, inputs: Mapping[str, str | Path | None], others: Iterable[tuple[str, Path]] = ()
) -> None:
    """Refuse an output that would overwrite an input; ``inputs`` has the description and the file, if any, of each.

    The outputs are --json and ``others``.
    """
    files = [(name, user_path(file)) for name, file in inputs.items() if file]
    refuse_shared([*([] if target is None else [("--json", target)]), *others], [*files, STANDARD_OUTPUT])


def write_file(path: Path, data: bytes) -> None:
    """Write ``data`` atomically, so that no reader sees a partial file.

    Raises
    ------
    UsageError
        If writing the file fails after all.
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
    """Name on standard error the results (``what``) that were read back but made by another version."""
    from metronome.sim.build.origin import difference

    for words in dict.fromkeys(difference(record) for record in records):
        if words is not None:
            print(f"metronome: note: {what}: {words}", file=sys.stderr)


def write_json(target: Path | None, value: Any) -> None:
    """Write ``value`` as JSON to a file, or to standard output if ``target`` is None.

    A document of results records its ``origin``. A list of available things has none.
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
