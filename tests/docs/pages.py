"""The pages that a reader of the project sees, and every text file of the repository."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Read by people who have not seen the project; CHANGELOG.md is a list, not sentences.
PAGES = tuple(sorted([
    *ROOT.glob("docs/*.md"), *ROOT.glob("docs/course/*.md"),
    ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "riscv_kernels" / "README.md",
]))


def text_files(*suffixes: str) -> dict[str, str]:
    """The tracked files that end so, under their paths, and those not yet tracked that git does not ignore."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True,
        text=True,
    ).stdout.split("\n")
    chosen = [name for name in names if name.endswith(suffixes) and (ROOT / name).is_file()]
    return {name: (ROOT / name).read_text("utf-8") for name in chosen}
