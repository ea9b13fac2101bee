"""The initial memory of a program as text for ``$readmemh``: for testbenches outside this project."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from metronome.hdl.config import SmConfig

from ..machine.memory.stacks import interleave
from ..machine.memory.store import PAGE_BYTES, SparseMemory
from .kernels import Launch, load_into

__all__ = ["image_text", "image_words", "read_words"]

_WORDS = 8  # words on a line of the text


def image_words(launch: Launch, config: SmConfig) -> SparseMemory:
    """Memory as seen by the SM's port when the program starts."""
    memory = SparseMemory(config.memory_map)
    load_into(launch, memory)
    interleave(config, memory)
    return memory


def _facts(launch: Launch, config: SmConfig) -> Iterator[str]:
    """The facts that a testbench needs, one a line."""
    places = config.memory_map
    yield f"entry {launch.entry:#010x}"
    yield f"argument {launch.argument_address:#010x}"
    yield f"memory {places.first:#010x} {places.end:#010x}"
    yield f"exit_code {places.exit_code:#010x}"
    yield f"console {places.console:#010x} {places.console_bytes}"
    for name, (address, data) in (launch.buffers | launch.loads).items():
        yield f"buffer {re.sub(r'[^!-~]+', '_', name)} {address:#010x} {len(data)}"


def image_text(launch: Launch, config: SmConfig) -> str:
    """The image: 32-bit words at word addresses (the byte address divided by 4). Memory is 0 at all other addresses.

    The header lines are comments: where the program starts (``start_pc``) and its argument block (``arg``), the
    first byte of memory and the one past its last, the exit code, the console with its bytes, and each buffer.
    """
    memory = image_words(launch, config)
    lines = [f"// initial memory of {launch.name}: words of 32 bits; a word that is not listed is 0"]
    lines += [f"// {fact}" for fact in _facts(launch, config)]
    following = None
    for page in memory.pages():
        # The first and the last page reach beyond memory.
        low, high = max(page, memory.memory_map.first), min(page + PAGE_BYTES, memory.memory_map.end)
        words = np.frombuffer(memory.read(low, high - low), "<u4")
        for first in range(0, len(words), _WORDS):
            row = words[first : first + _WORDS]
            if not row.any():
                continue
            address = low // 4 + first
            if address != following:
                lines.append(f"@{address:08x}")
            lines.append(" ".join(f"{word:08x}" for word in row.tolist()))
            following = address + len(row)
    return "\n".join(lines) + "\n"


def read_words(text: str) -> Iterator[tuple[int, int]]:
    """Return the byte address and value of every word in such a text."""
    address = 0
    for line in text.splitlines():
        for word in line.partition("//")[0].split():
            if word.startswith("@"):
                address = int(word[1:], 16) * 4
            else:
                yield address, int(word, 16)
                address += 4
