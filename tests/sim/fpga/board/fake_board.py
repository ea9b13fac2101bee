"""A board in Python, and a line to it on which something may go wrong: the protocol read a second time."""

import binascii
import struct

from metronome.hdl.board.protocol import machine_digest
from metronome.hdl.board.regions import regions_of
from metronome.hdl.bus.register_table import register_table
from metronome.hdl.presets import ULX3S

CONFIG = ULX3S.for_chip()
PLACES = {its.name: its.offset for its in register_table(CONFIG)}


def crc(content):
    return struct.pack(">H", binascii.crc_hqx(content, 0xFFFF))


class FakeBoard:
    """A transport. What is written is carried out at once; ``answers`` may be damaged before they are read."""

    name = "the fake"

    def __init__(self, config=CONFIG):
        regions = regions_of(config)
        self.memory, self.console, self.requests = {}, [], []
        self.regions = regions.parts
        self.info = [1, 25_000_000, machine_digest(config), len(regions.parts)]
        for part in regions.parts:
            self.info += [part.first, part.size]
        self.registers = dict.fromkeys(PLACES.values(), 0)
        self.registers[PLACES["identity"]], self.registers[PLACES["version"]] = 0x4D54524E, 2
        #: Called with the bytes of an answer; what it returns is what comes.
        self.line = lambda content: content
        #: Called when a run is started.
        self.runs = lambda: None
        self.closed = False
        self._answer = b""

    def _word(self, space, address):
        if space == 0:
            there = any(part.first <= address < part.end for part in self.regions)
            return there, self.memory.get(address, 0)
        if space == 1:
            return address in self.registers, self.registers.get(address, 0)
        if space == 2:
            return address // 4 < len(self.info), self.info[address // 4] if address // 4 < len(self.info) else 0
        return True, self.console.pop(0) if self.console else 0

    def write(self, content):
        assert content[0] == 0x4D and crc(content[:7]) == content[7:9], content.hex()
        code, count, address = struct.unpack("<BBI", content[1:7])
        self.requests.append((code, count, address))
        space, count, flags, words = code & 3, count or 256, 0, []
        if not code & 4:
            assert len(content) == 9
            for place in range(count):
                there, word = self._word(space, address + 4 * place)
                words.append(word)
                flags |= not there
        else:
            data, end = content[9:-2], content[-2:]
            assert crc(data) == end and len(data) == (4 if code & 8 else 4 * count)
            for place, word in enumerate(struct.unpack(f"<{len(data) // 4}I", data) * (256 * count if code & 8 else 1)):
                flags |= not self._word(space, address + 4 * place)[0]
                (self.memory if space == 0 else self.registers)[address + 4 * place] = word
                if space == 1 and address == PLACES["control"] and word & 1:
                    self.runs()
        body = b"\x06" + struct.pack(f"<{len(words)}I", *words) + bytes([flags])
        self._answer += self.line(body + crc(body))

    def read(self, count, seconds):
        part, self._answer = self._answer[:count], self._answer[count:]
        return part

    def seconds(self, count):
        return 0.1

    def rest(self):
        self._answer = b""

    def close(self):
        self.closed = True
