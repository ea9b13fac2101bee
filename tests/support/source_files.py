"""The files of the sources, with git and without: they may come as an archive, or to a machine that has no git."""

import shutil
import subprocess
from pathlib import Path

__all__ = ["source_files"]


def source_files(root: Path) -> list[Path]:
    """The files that git keeps of ``root``, or would if they were added; without git, those that it would not ignore.

    Only names of folders, ``/folder/`` and ``*.suffix`` are understood in ``.gitignore``: it has no others.
    """
    if shutil.which("git"):
        # The fourth option: a checkout of another user, which git does not touch otherwise.
        command = ["git", "-C", str(root), "-c", f"safe.directory={root}", "ls-files", "-z", "--cached", "--others",
                   "--exclude-standard"]
        listing = subprocess.run(command, capture_output=True, text=True, check=False)
        if listing.returncode == 0 and listing.stdout:
            paths = [root / name for name in listing.stdout.split("\0") if name]
            return sorted(path for path in set(paths) if path.is_file())
    ignored = root / ".gitignore"
    patterns = [".git", *(ignored.read_text().split() if ignored.exists() else [])]
    found: list[Path] = []
    folders = [root]
    while folders:
        for path in folders.pop().iterdir():
            if any(path == root / pattern[1:-1] if pattern.startswith("/") else path.match(pattern.strip("/"))
                   for pattern in patterns):
                continue
            if path.is_dir() and not path.is_symlink():
                folders.append(path)
            elif path.is_file():
                found.append(path)
    return sorted(found)
