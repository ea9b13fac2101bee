"""The measured region (CSR 0x7C0) of a program that does not open it: a few instructions, added when it is loaded.

For a whole program, they are at its start: they open the region and jump to the program's entry. For a function, its
first instruction becomes a jump to them. They open the region, call the function without that jump, and close the
region when it has returned. The function may therefore call itself, or end in a jump to another one. A call that finds
the region open leaves it open.

A function finds every register as its caller left it, except for ``t0`` and ``ra``; ``sp`` is 16 bytes lower.
"""

from __future__ import annotations

import dataclasses
import struct

from metronome.hdl.config import LINE_BYTES, SmConfig

from ..machine.settings import near
from .assembler import asm
from .assembler.asm import Program
from .assembler.formats import branch_offset
from .elf import ElfImage, ImageError, Segment
from .kernels import Launch
from .names import readable

__all__ = ["WHOLE", "free_place", "with_region", "with_stub"]

#: The name of the region that is the whole program.
WHOLE = "whole"
_MREGION = 0x7C0
_ZERO, _RA, _SP, _T0 = (asm.REGISTERS[name] for name in ("zero", "ra", "sp", "t0"))
_FRAME_BYTES, _SAVED_RA, _SAVED_REGION = 16, 12, 8
#: The range of a jal in bytes.
_REACH = 1 << 20
#: A branch with a hint has bit 0 clear (isa.md).
_AUIPC, _BRANCH, _JAL = 0x17, 0x63, 0x6F
#: Address -> instruction.
_Words = dict[int, int]


def with_region(launch: Launch, region: str, config: SmConfig) -> Launch:
    """Return ``launch``, with all that is loaded, and the region open in ``region``: "whole" or the name of a function.

    Raises
    ------
    ImageError
        If there is no such function, it cannot be measured so, or there is no place for the added instructions.
    """
    try:
        image = _around_all(launch, config) if region == WHOLE else _around_function(launch, region, config)
    except ImageError as error:
        raise ImageError(f"--region {region}: {error}") from None
    return dataclasses.replace(launch, image=image, region=region)


def _around_all(launch: Launch, config: SmConfig) -> ElfImage:
    """The image with a stub that opens the region at the start."""
    entry = launch.image.entry
    place = free_place(launch, config, entry)
    program = Program(place)
    program.add(asm.csrrwi(_ZERO, _MREGION, 1), asm.jal(_ZERO, entry - place - 4))
    return dataclasses.replace(with_stub(launch.image, program, entry), entry=place)


def _around_function(launch: Launch, name: str, config: SmConfig) -> ElfImage:
    """The image with a stub that opens the region at each call of a function, and closes it at the return."""
    image = launch.image
    first, end = _function(launch, name)
    if first == image.entry:
        raise ImageError(f"the program starts there, without a stack: use --region {WHOLE}")
    words = _words(image, first, end)
    word = words.get(first, 0)
    if first % 4 or (word & 3 != 3 and word & 0x7F != _BRANCH - 1):
        raise ImageError(f"at {first:#010x} is no instruction of 32 bits: name another function")
    place = free_place(launch, config, first)
    program = _call(place)
    body = program.here
    try:
        _append_moved(program, words[first], first)
        patched = {first: asm.jal(_ZERO, place - first)} | _loops(words, first, body)
        return with_stub(_patched(image, patched), program, first)
    except ValueError:  # from asm
        raise ImageError(
            f"a jump at the function's start, or back to it, does not reach {place:#010x}, where the added"
            " instructions are: name the function that calls it"
        ) from None


def _call(place: int) -> Program:
    """Open the region, call the code that follows, close the region, return."""
    program = Program(place)
    program.add(
        asm.addi(_SP, _SP, -_FRAME_BYTES),
        asm.sw(_RA, _SAVED_RA, _SP),
        # Restore the previous value: a number for csrw would have to be that of lane 0, which may not be active.
        asm.csrrwi(_T0, _MREGION, 1),
        asm.sw(_T0, _SAVED_REGION, _SP),
    )
    program.jal(_RA, "body")
    program.add(asm.lw(_T0, _SAVED_REGION, _SP))
    program.branch(asm.bne, _T0, _ZERO, "open before")
    program.add(asm.csrrwi(_ZERO, _MREGION, 0))
    program.label("open before")
    program.add(asm.lw(_RA, _SAVED_RA, _SP), asm.addi(_SP, _SP, _FRAME_BYTES), asm.jalr(_ZERO, _RA, 0))
    program.label("body")
    return program


def _append_moved(program: Program, word: int, pc: int) -> None:
    """Append code that does the same as ``word`` at ``pc``, and then continues after it. ValueError: out of reach."""
    opcode, rd, body = word & 0x7F, word >> 7 & 31, program.here
    if opcode == _AUIPC:
        program.li(rd, (pc + (word & 0xFFFFF000)) & 0xFFFF_FFFF)
    elif opcode == _JAL:
        program.add(asm.jal(rd, _target(pc, _jal_offset(word), body) - body))
    elif opcode | 1 == _BRANCH:
        program.add(_branch(word, 8), asm.jal(_ZERO, pc + 4 - (body + 4)))
        program.add(asm.jal(_ZERO, _target(pc, branch_offset(word), body) - (body + 8)))
        return
    else:
        program.add(word)
    program.add(asm.jal(_ZERO, pc + 4 - program.here))


def _target(pc: int, offset: int, body: int) -> int:
    """The target of a jump at ``pc``, which is now at ``body``: a jump to itself still targets itself."""
    return pc + offset if offset else body


def _loops(words: _Words, first: int, body: int) -> _Words:
    """The function's branches and jumps to its own start, which is now at ``body``. ValueError: out of reach."""
    moved = {}
    for pc, word in words.items():
        if (word | 1) & 0x7F == _BRANCH and pc + branch_offset(word) == first != pc:
            moved[pc] = _branch(word, body - pc)
        elif word & 0xFFF == _JAL and pc + _jal_offset(word) == first != pc:  # rd is x0
            moved[pc] = asm.jal(_ZERO, body - pc)
    return moved


def _sign_extended(value: int, bits: int) -> int:
    return (value ^ 1 << bits - 1) - (1 << bits - 1)


def _jal_offset(word: int) -> int:
    bits = word >> 31 << 20 | (word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11 | (word >> 21 & 0x3FF) << 1
    return _sign_extended(bits, 21)


def _branch(word: int, offset: int) -> int:
    """The branch ``word`` with another offset, without its hint."""
    return asm.beq(word >> 15 & 31, word >> 20 & 31, offset) | word & 0x7000


def _short(name: str) -> str:
    """A function's name without its arguments."""
    return readable(name).partition("(")[0]


def _function(launch: Launch, name: str) -> tuple[int, int]:
    """(address, end) of the function of this name: the linker's name, or the one in a C++ source."""
    functions = launch.image.functions
    if not functions:
        raise ImageError(f"{launch.name} has no symbols: use --region {WHOLE}")
    found = {(first, end) for first, end, known in functions if known == name}
    found = found or {(first, end) for first, end, known in functions if name in (readable(known), _short(known))}
    if not found:
        if name in launch.image.symbols:
            raise ImageError(f"the symbol is no function in {launch.name}: name a function")
        names = (_short(known) for _, _, known in functions)
        raise ImageError(f"{launch.name} has no function of this name{near(name, names)}")
    if len(found) > 1:
        places = ", ".join(f"{first:#010x}" for first, _ in sorted(found))
        raise ImageError(f"{launch.name} has {len(found)} functions of this name, at {places}: name another one")
    ((first, end),) = found
    if end - first < 4:
        raise ImageError(f"the function has {end - first} bytes in the symbol table: name one of at least 4")
    return first, end


def _words(image: ElfImage, first: int, end: int) -> _Words:
    """The whole words of [first, end), as far as one segment has them."""
    for segment in image.segments:
        last = min(end, segment.address + len(segment.data))
        if segment.address <= first < last:
            places = range(first, last - 3, 4)
            data = segment.data[first - segment.address : last - segment.address]
            return {pc: int.from_bytes(data[pc - first :][:4], "little") for pc in places}
    return {}


def free_place(launch: Launch, config: SmConfig, target: int) -> int:
    """The highest free line below the segment with ``target``, from which a jal reaches it."""
    memory_map = launch.memory_map
    stacks = memory_map.stack_bytes_per_hart * config.harts * config.cores
    taken = [(segment.address, segment.end) for segment in launch.image.segments]
    taken += [(address, address + len(data)) for address, data in (launch.buffers | launch.loads).values()]
    taken += [
        (memory_map.user, memory_map.user + max(LINE_BYTES, len(launch.arguments))),
        (memory_map.stack_top - stacks, memory_map.stack_top),
        (memory_map.local, memory_map.local + config.local_bytes),
    ]
    bottom = max(memory_map.user, target - _REACH + LINE_BYTES)
    place = next(low for low, high in taken if low <= target < high) // LINE_BYTES * LINE_BYTES - LINE_BYTES
    for low, high in sorted(taken, reverse=True):
        if low < place + LINE_BYTES and place < high:
            place = low // LINE_BYTES * LINE_BYTES - LINE_BYTES
    if place < bottom:
        raise ImageError(
            f"no {LINE_BYTES} bytes are free in the {_REACH >> 20} MiB below {target:#010x} for the instructions that"
            " it adds: link the program to a higher address, or choose another ADDR for --load"
        )
    return place


def _patched(image: ElfImage, words: _Words) -> ElfImage:
    """The image with other words in its segments."""
    segments = []
    for segment in image.segments:
        data = bytearray(segment.data)
        for pc, word in words.items():
            if segment.address <= pc < segment.address + len(data):
                struct.pack_into("<I", data, pc - segment.address, word)
        segments.append(dataclasses.replace(segment, data=bytes(data)))
    return dataclasses.replace(image, segments=tuple(segments))


def with_stub(image: ElfImage, program: Program, target: int) -> ElfImage:
    """The image with a stub in one memory line; reports name ``target`` for it. ValueError: a jump is out of reach."""
    code = program.assemble()
    assert len(code) <= LINE_BYTES, "free_place has found one line"
    stub = Segment(program.base, code, LINE_BYTES)
    return dataclasses.replace(
        image,
        segments=tuple(sorted((*image.segments, stub), key=lambda segment: segment.address)),
        stand_ins=(*image.stand_ins, (stub.address, stub.end, target)),
    )
