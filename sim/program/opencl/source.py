"""The kernels of an OpenCL source, from the metadata that clang writes, and the function that calls one of them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

__all__ = ["ENTRY", "Kernel", "Parameter", "find_kernels", "launcher"]

#: The function that entry.S calls with the address of the arguments.
ENTRY = "__opencl_kernel"
_SPACES = {"0": "value", "1": "global", "2": "constant", "3": "local"}
_DEFINITION = re.compile(r"^define .*?spir_kernel void @(\"[^\"]*\"|[\w.$]+)\(.*$", re.MULTILINE)
_ATTACHED = re.compile(r"!(\w+) !(\d+)")
_NODE = re.compile(r"^!(\d+) = (?:distinct )?!\{(.*)\}$", re.MULTILINE)
_TEXT = re.compile(r'!"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True)
class Parameter:
    """A parameter. ``kind`` is ``value``, or a pointer's address space: ``global``, ``constant`` or ``local``."""

    name: str
    type: str
    kind: str


@dataclass(frozen=True)
class Kernel:
    """A kernel as it is declared."""

    name: str
    parameters: tuple[Parameter, ...]
    #: ``reqd_work_group_size``, if it has one.
    required: tuple[int, ...] | None


def find_kernels(text: str) -> list[Kernel]:
    """The kernels in LLVM IR, in the order of the source."""
    nodes = {number: content for number, content in _NODE.findall(text)}
    found = []
    for match in _DEFINITION.finditer(text):
        attached = {name: nodes.get(number, "") for name, number in _ATTACHED.findall(match[0])}
        spaces = re.findall(r"i32 (\d+)", attached.get("kernel_arg_addr_space", ""))
        types = _TEXT.findall(attached.get("kernel_arg_type", ""))
        names = _TEXT.findall(attached.get("kernel_arg_name", ""))
        required = re.findall(r"i32 (\d+)", attached.get("reqd_work_group_size", ""))
        found.append(Kernel(
            _unquoted(match[1]),
            tuple(Parameter(name, kind, _kind(space, kind))
                  for name, kind, space in zip(names, types, spaces, strict=True)),
            tuple(int(number) for number in required) or None,
        ))
    return found


def _unquoted(name: str) -> str:
    """A name in LLVM IR as the source has it: between quotation marks, bytes of UTF-8 are written in hexadecimal."""
    plain = re.sub(r"\\([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), name.strip('"'))
    return plain.encode("latin-1").decode("utf-8")


def _kind(space: str, name: str) -> str:
    return _SPACES.get(space, "global") if name.endswith("*") else "value"


def launcher(kernel: Kernel) -> str:
    """OpenCL C to append to the kernel's source: the function of :data:`ENTRY`, and a kernel description for the host.

    The arguments are a struct in memory. For a ``__local`` pointer it has an offset from the work-group's local memory.
    """
    fields, values, places = [], [], []
    for number, parameter in enumerate(kernel.parameters):
        name, kind = f"__metronome_{number}", parameter.type
        values.append(f"__metronome_arguments->{name}")
        if parameter.kind == "local":
            kind = "unsigned int"
            values[-1] = f"(__local void *)(__metronome_local_memory + __metronome_arguments->{name})"
        elif parameter.kind != "value":
            kind = f"__{parameter.kind} void *"
        fields.append(f"    {kind} {name};")
        places += [f"__builtin_offsetof(struct __metronome_arguments, {name})",
                   f"sizeof(((struct __metronome_arguments *)0)->{name})"]
    about = {
        "name": kernel.name, "required": kernel.required,
        "parameters": [[one.name, one.type, one.kind] for one in kernel.parameters],
    }
    size = "sizeof(struct __metronome_arguments)" if fields else "0"
    return "\n".join([
        "struct __metronome_arguments {", *(fields or ["    unsigned int __metronome_nothing;"]), "};",
        f"void {ENTRY}(__constant struct __metronome_arguments *__metronome_arguments)", "{",
        "    unsigned int __metronome_local_memory;", '    __asm__("mv %0, tp" : "=r"(__metronome_local_memory));',
        f"    {kernel.name}({', '.join(values)});", "}",
        f"__constant unsigned int __metronome_places[] = {{{', '.join([*places, size])}}};",
        f"__constant char __metronome_about[] = {json.dumps(json.dumps(about))};", "",
    ])
