"""The argument block of an OpenCL kernel: its range, its local memory and its arguments (runtime/opencl/launch.h)."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from metronome.hdl.config import SmConfig
from metronome.riscv_kernels.host import ARGUMENT_BYTES, KernelError
from metronome.riscv_kernels.opencl import Local, OpenCl

from ..elf import ElfImage
from .local import TABLE
from .source import Parameter
from .values import packed, short

__all__ = ["launch_arguments"]

#: launch.h: dimension, sizes, groups, bytes of local memory, single, resident, address of the arguments.
_HEADER = struct.Struct("<I3I3I3IIIII")
#: The offset of the arguments, after the header.
_ARGUMENTS_AT = 64
#: A __local pointer is aligned for every type.
_LOCAL_ALIGN = 64


@dataclass(frozen=True)
class _KernelDescription:
    """The program's description of its kernel (source.py, local.py)."""

    name: str
    parameters: tuple[Parameter, ...]
    required: tuple[int, ...] | None
    #: Offset and bytes of each argument, and bytes of all.
    places: tuple[tuple[int, int], ...]
    argument_bytes: int
    local_bytes: int
    local_align: int
    #: Whether the work-items of a group meet at barriers or share local memory.
    together: bool


def _table(image: ElfImage, name: str) -> bytes:
    address, size = image.symbols[name]
    for segment in image.segments:
        if segment.address <= address and address + size <= segment.address + len(segment.data):
            return bytes(segment.data[address - segment.address :][:size])
    raise KeyError(name)


def _built(image: ElfImage) -> _KernelDescription:
    about = json.loads(_table(image, "__metronome_about").rstrip(b"\0").decode())
    words = [word for (word,) in struct.iter_unpack("<I", _table(image, "__metronome_places"))]
    local_bytes, local_align, together = struct.unpack("<3I", _table(image, TABLE))
    return _KernelDescription(
        about["name"], tuple(Parameter(*one) for one in about["parameters"]),
        tuple(about["required"]) if about["required"] else None,
        tuple(zip(words[0:-1:2], words[1:-1:2], strict=True)), words[-1], local_bytes, local_align, bool(together),
    )


def launch_arguments(image: ElfImage, problem: OpenCl, config: SmConfig, file: str) -> bytes:
    """Return the argument block of ``problem`` for the program ``image``. ``file`` is the author's, for messages.

    Raises
    ------
    KernelError
        For arguments or sizes that the kernel or the machine does not accept: one line.
    """
    built = _built(image)

    def fail(reason: str) -> KernelError:
        return KernelError(f"{file}: kernel {built.name!r}: {reason}")

    try:
        sizes = _sizes("global_size", problem.global_size)
        local = _local_size(problem, built, config, sizes)
        values, local_bytes = _arguments(problem, built)
    except ValueError as error:
        raise fail(str(error)) from None
    lanes = math.prod(local)
    group_warps = -(-lanes // config.threads)
    if group_warps > config.warps:
        raise fail(f"a work-group of {lanes} work-items is more than the machine has threads: {config.harts}")
    if local_bytes > config.local_bytes:
        raise fail(f"a work-group needs {local_bytes} bytes of local memory, and the machine has {config.local_bytes}")
    resident = config.local_bytes // local_bytes if local_bytes else config.warps
    groups = [size // part for size, part in zip(sizes, local, strict=True)]
    single = lanes == 1 and not built.together
    block = _HEADER.pack(
        len(sizes), *_three(sizes), *_three(local), *_three(groups), local_bytes, single, resident,
        config.memory_map.user + _ARGUMENTS_AT,
    )
    block = block.ljust(_ARGUMENTS_AT, b"\0") + values
    if len(block) > ARGUMENT_BYTES:
        raise fail(f"its arguments have {len(values)} bytes, and there is room for {ARGUMENT_BYTES - _ARGUMENTS_AT}")
    return block


def _three(sizes: Sequence[int]) -> list[int]:
    return [*sizes, 1, 1][:3]


def _sizes(name: str, value: int | Sequence[int]) -> list[int]:
    given = value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else [value]
    if not (1 <= len(given) <= 3 and all(hasattr(one, "__index__") and int(one) >= 1 for one in given)):
        raise ValueError(f"{name} must be one to three whole numbers of at least 1, not {value!r}")
    sizes = [int(one) for one in given]
    if math.prod(sizes) >= 1 << 32:
        raise ValueError(f"{name} must be less than 2^32 work-items, not {value!r}")
    return sizes


def _local_size(problem: OpenCl, built: _KernelDescription, config: SmConfig, sizes: Sequence[int]) -> list[int]:
    """The local size from host.py or the kernel; else the one that fills a warp, as far as it divides the range."""
    given = problem.local_size
    required = None if built.required is None else list(built.required[: len(sizes)])
    if given is None:
        local = required or (_filling(sizes, config.threads) if built.together else [1] * len(sizes))
    else:
        local = _sizes("local_size", given)
        if len(local) != len(sizes):
            raise ValueError(f"local_size has {len(local)} dimensions, and global_size has {len(sizes)}")
        if required is not None and local != required:
            raise ValueError(f"local_size is {_text(local)}, but reqd_work_group_size is {_text(required)}")
    for size, part in zip(sizes, local, strict=True):
        if size % part:
            raise ValueError(
                f"global_size {_text(sizes)} must be a multiple of local_size {_text(local)} in every dimension"
            )
    return local


def _text(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def _filling(sizes: Sequence[int], lanes: int) -> list[int]:
    local = []
    for size in sizes:
        part = max(part for part in range(1, min(size, lanes) + 1) if size % part == 0)
        local.append(part)
        lanes //= part
    return local


def _arguments(problem: OpenCl, built: _KernelDescription) -> tuple[bytes, int]:
    """The bytes of all arguments, and of the local memory of a work-group."""
    block = bytearray(built.argument_bytes)
    local = _rounded(built.local_bytes, built.local_align)
    given = _in_order(problem.arguments, built.parameters)
    pairs = zip(built.parameters, given, built.places, strict=True)
    for number, (parameter, value, (offset, size)) in enumerate(pairs):
        what = f"argument {number} {parameter.name!r}"
        if parameter.kind == "local":
            if not isinstance(value, Local) or type(value.bytes) is not int or value.bytes < 1:
                raise ValueError(f"{what} is a __local pointer: give Local(bytes), not {short(value)}")
            local = _rounded(local, _LOCAL_ALIGN)
            data = struct.pack("<I", local)
            local += value.bytes
        elif parameter.kind != "value":
            data = struct.pack("<I", _address(what, value, parameter, problem))
        else:
            data = packed(what, value, parameter.type, size)
        block[offset : offset + size] = data
    return bytes(block), _rounded(local, _LOCAL_ALIGN if any(one.kind == "local" for one in built.parameters)
                                  else built.local_align)


def _rounded(number: int, align: int) -> int:
    return -(-number // align) * align


def _in_order(given: Sequence[object] | Mapping[str, object], parameters: Sequence[Parameter]) -> list[object]:
    names = [one.name for one in parameters]
    if isinstance(given, Mapping):
        missing = [name for name in names if name not in given]
        unknown = [str(name) for name in given if name not in names]
        if missing or unknown:
            parts = [f"argument {missing[0]!r} is missing"] * bool(missing)
            parts += [f"it has no parameter {unknown[0]!r}"] * bool(unknown)
            raise ValueError(f"{', and '.join(parts)}: it takes {', '.join(names) or 'none'}")
        return [given[name] for name in names]
    if len(given) != len(names):
        raise ValueError(f"it takes {len(names)} arguments ({', '.join(names) or 'none'}), not {len(given)}")
    return list(given)


def _address(what: str, value: object, parameter: Parameter, problem: OpenCl) -> int:
    ends = [(address, address + max(1, len(data))) for address, data in problem.buffers.values()]
    if type(value) is not int or not (value == 0 or any(first <= value < end for first, end in ends)):
        raise ValueError(
            f"{what} is a __{parameter.kind} pointer: give the return value of Buffers.place, not {short(value)}"
        )
    return value
