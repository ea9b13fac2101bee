"""The pages that a reader of the project sees, and every text file of the repository."""

from metronome.sim.build.sources import ROOT
from tests.support.source_files import source_files

#: Read by people who have not seen the project; CHANGELOG.md is a list, not sentences.
PAGES = tuple(sorted([
    *ROOT.glob("docs/*.md"), *ROOT.glob("docs/course/*.md"), *ROOT.glob("docs/tutorials/*.md"),
    ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "riscv_kernels" / "README.md",
]))


def text_files(*suffixes: str) -> dict[str, str]:
    """The files of the sources that end so, under their paths."""
    paths = [path for path in source_files(ROOT) if path.name.endswith(suffixes)]
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}
