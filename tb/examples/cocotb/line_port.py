"""Memory for the bare line port of an exported SM under cocotb: an image, a fixed latency, one request per cycle."""

from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["LINE_BYTES", "Image", "LinePort"]

LINE_BYTES = 64


class Image:
    """The output of ``metronome build --image``: memory by line number, and the facts in the header."""

    def __init__(self, path: Path) -> None:
        self.facts: dict[str, list[int]] = {}
        self.buffers: dict[str, list[int]] = {}  # name -> address and bytes
        self.lines: dict[int, bytearray] = {}
        address = 0
        for row in path.read_text().splitlines():
            words = row.split()
            if words[0] == "//":
                if words[1] in ("entry", "argument", "memory", "exit_code", "console"):
                    self.facts[words[1]] = [int(word, 0) for word in words[2:]]
                if words[1] == "buffer":
                    self.buffers[words[2]] = [int(word, 0) for word in words[3:]]
                continue
            for word in words:
                if word.startswith("@"):
                    address = 4 * int(word[1:], 16)
                else:
                    self.write(address, int(word, 16).to_bytes(4, "little"))
                    address += 4
        if "memory" not in self.facts:
            raise ValueError(f"{path} is not an image of metronome build --image")

    def line(self, number: int) -> bytearray:
        """Return the bytes of a line, which may be changed."""
        return self.lines.setdefault(number, bytearray(LINE_BYTES))

    def write(self, address: int, data: bytes) -> None:
        """Write bytes within a line."""
        place = address % LINE_BYTES
        self.line(address // LINE_BYTES)[place : place + len(data)] = data

    def word(self, address: int) -> int:
        """Return the word at a byte address."""
        place = address % LINE_BYTES
        return int.from_bytes(self.line(address // LINE_BYTES)[place : place + 4], "little")

    def contains(self, line: int) -> bool:
        """Return whether memory has this line."""
        first, end = self.facts["memory"]
        return first <= line * LINE_BYTES and (line + 1) * LINE_BYTES <= end

    def text(self) -> str:
        """Return the current contents of memory in the same format."""
        rows = []
        for number, line in sorted(self.lines.items()):
            words = [int.from_bytes(line[place : place + 4], "little") for place in range(0, LINE_BYTES, 4)]
            rows += [f"@{number * LINE_BYTES // 4:08x}", " ".join(f"{word:08x}" for word in words)]
        return "\n".join(rows) + "\n"


class _Request(NamedTuple):
    due: int
    line: int
    tag: int
    write: int
    byte_mask: int
    data: bytes


class LinePort:
    """Answers the requests of ``dut``, each ``latency`` cycles after it was taken.

    Call :meth:`drive` in each cycle while the clock is 0, and :meth:`take` when all signals have settled after it.
    """

    def __init__(self, dut: Any, image: Image, latency: int) -> None:
        self._dut, self._image, self._latency = dut, image, latency
        self._waiting: deque[_Request] = deque()
        self._presented = False
        dut.mem_req_ready.value = 1
        dut.mem_resp_valid.value = dut.mem_resp_tag.value = dut.mem_resp_error.value = dut.mem_resp_data.value = 0

    def drive(self, cycle: int) -> None:
        """Present the next response, if one is due, and hold it until it is taken."""
        if self._presented:
            return
        self._presented = bool(self._waiting) and self._waiting[0].due <= cycle
        self._dut.mem_resp_valid.value = int(self._presented)
        if self._presented:
            request = self._waiting.popleft()
            self._dut.mem_resp_tag.value = request.tag
            self._dut.mem_resp_error.value = int(not self._image.contains(request.line))
            self._dut.mem_resp_data.value = int.from_bytes(self._carry_out(request), "little")

    def take(self, cycle: int) -> None:
        """Record the transfers at the edge that ends this cycle."""
        dut = self._dut
        if self._presented and dut.mem_resp_ready.value == 1:
            self._presented = False
        if dut.mem_req_valid.value == 1:
            names = ("line", "tag", "write", "byte_mask")
            fields = {name: int(getattr(dut, f"mem_req_{name}").value) for name in names}
            data = int(dut.mem_req_data.value) if fields["write"] else 0
            self._waiting.append(_Request(cycle + self._latency, **fields, data=data.to_bytes(LINE_BYTES, "little")))

    def _carry_out(self, request: _Request) -> bytes:
        if not self._image.contains(request.line):
            return bytes(LINE_BYTES)
        line = self._image.line(request.line)
        if request.write:
            for byte in range(LINE_BYTES):
                if request.byte_mask >> byte & 1:
                    line[byte] = request.data[byte]
        return bytes(line)
