"""The C++ of a simulation: Verilator's output, kept for another compilation, and the testbench's sources."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from .executables import TB_SOURCES
from .plain_paths import plain
from .verilating import PREFIX, BuildError

__all__ = ["cocotb_library", "pack", "testbench_sources", "unpack"]

_ARCHIVE = "sources.tar.gz"


def cocotb_library() -> str:
    """The linker's flags for cocotb's library."""
    import cocotb_tools.config as cocotb_config

    return f"-L{plain(Path(cocotb_config.libs_dir))} -lcocotbvpi_verilator"


def testbench_sources(testbench: Sequence[Path] = TB_SOURCES) -> list[Path]:
    """cocotb's main program, and the sources of the testbench."""
    import cocotb_tools.config as cocotb_config

    main = plain(Path(cocotb_config.share_dir)) / "lib" / "verilator" / "verilator.cpp"
    return [main, *(plain(path.parent) / path.name for path in testbench)]


def pack(folder: Path) -> None:
    """Keep the C++ of ``folder``/obj in ``folder``: elaborating and verilating take longer than all later steps."""
    with tarfile.open(folder / _ARCHIVE, "w:gz", compresslevel=3) as archive:
        for path in sorted((folder / "obj").iterdir()):
            if path.suffix in (".cpp", ".h", ".mk"):
                archive.add(path, f"obj/{path.name}")


def unpack(entry: Path, folder: Path) -> list[Path]:
    """Extract the C++ that :func:`pack` kept in ``entry`` to ``folder``/obj; return the C++ sources of the testbench.

    Raises
    ------
    BuildError
        If the cache's copy is damaged.
    """
    try:
        # Read the whole file, so that its checksum is verified: tarfile would stop before it, at the archive's end.
        content = gzip.decompress((entry / _ARCHIVE).read_bytes())
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            # Python 3.11.2, which Debian 12 has, refuses an argument `filter`.
            archive.extraction_filter = getattr(tarfile, "data_filter", None)
            archive.extractall(folder)
        makefile = folder / "obj" / f"{PREFIX}.mk"
        text = makefile.read_text()
    except (FileNotFoundError, IsADirectoryError, gzip.BadGzipFile, tarfile.TarError, zlib.error, EOFError,
            UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise BuildError(f"the build cache is damaged: delete {entry} to have it rebuilt ({reason})") from None
    # The makefile contains the paths of the installation that wrote it.
    sources = [path for path in testbench_sources() if path.suffix == ".cpp"]
    rules = {path.stem: f"{path.stem}.o: {path}" for path in sources}
    text = re.sub(r"^(\w+)\.o: .*$", lambda match: rules.get(match[1], match[0]), text, flags=re.MULTILINE)
    makefile.write_text(re.sub(r"-L\S+ -lcocotbvpi_verilator", lambda match: cocotb_library(), text))
    return sources
