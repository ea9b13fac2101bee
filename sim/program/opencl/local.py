"""``__local`` variables: each work-group has its own, so an address is an offset from a register.

The compiler knows variables of that kind: thread-local ones, at an offset from tp. A ``__local`` variable is therefore
made thread-local in LLVM IR; in the assembly its offset becomes a number, and nothing is left for the linker.
entry.S sets tp to the local memory of the work-group.
"""

from __future__ import annotations

import re

from .source import ENTRY

__all__ = ["TABLE", "as_threads", "named", "place_locals"]

#: The table of :func:`place_locals`: bytes, alignment, whether the work-items of a group belong together.
TABLE = "__metronome_local"
_VARIABLE = re.compile(r"^(@[^ ]+ = )internal (?:unnamed_addr )?(global .* (?:undef|poison)(?:,|$))", re.MULTILINE)
#: A function except the entry; the bytes of a name beyond ASCII are written \\C3.
_FUNCTION = re.compile(
    rf"^define (?:dso_local |available_externally )+(?=.*?@(?!{ENTRY}\()[\"\\\w.$]+\()", re.MULTILINE
)
#: A user's constant that would be visible to other files; names of ours begin with __metronome_.
_SEEN = re.compile(r"^(@(?!__metronome_)[^ ]+ = )dso_local (?=(?:\w*unnamed_addr )?constant )", re.MULTILINE)
#: A variable of the whole program, which -cl-std=CL2.0 allows.
_GLOBAL = re.compile(r"^(@[^ ]+ = )(?:dso_local |internal )(?:\w*unnamed_addr )?(?=global )", re.MULTILINE)
_BODY = re.compile(r"^(define internal .*\)) (#\d+ )", re.MULTILINE)
_ATTRIBUTES = re.compile(r"^attributes #\d+ = \{.*$", re.MULTILINE)
_NEVER_INLINE = re.compile(r" (?:noinline|optnone)\b")
_SECTION = re.compile(r"^\s*\.(section|text|data|bss)\b(.*)$")
_LABEL = re.compile(r"^([\w.$]+|\"[^\"]+\"):")
_SIZE = re.compile(r"^\s*\.size\s+([^,]+), (\d+)$")
_ALIGN = re.compile(r"^\s*\.p2align\s+(\d+)")
_WEAK = re.compile(r"^\s*\.weak\s")
_FILE = re.compile(r"^\s*\.file\s+\d+ ")
_HIGH_OR_LOW = re.compile(r"%tprel_(hi|lo)\(")
_ADD = re.compile(r", %tprel_add\([^)]*\)")
#: A barrier in clang's assembly.
_BARRIER = re.compile(r"^\s*\.insn r 0x0B, 4,|^\s*\.insn r 11, 4,", re.MULTILINE)


def as_threads(text: str) -> str:
    """Return the IR with ``__local`` variables at an offset from tp, and with only the code that the kernel needs.

    Only the kernel's own source can call its functions: those that it does not call, including other kernels, drop out.
    All others become part of it.

    If a variable is internal, the compiler assumes that only one thread stores to it, and keeps it in a register
    across a barrier: kernels never recurse. A ``linkonce`` variable is external, so a barrier may have changed
    it. It still drops out if the kernel does not use it.
    """
    text = _FUNCTION.sub("define internal ", _VARIABLE.sub(r"\1linkonce thread_local(localexec) \2", text))
    text = _SEEN.sub(r"\1internal ", _GLOBAL.sub(r"\1linkonce ", text))
    text = _BODY.sub(r"\1 alwaysinline \2", text)
    return _ATTRIBUTES.sub(lambda line: _NEVER_INLINE.sub("", line[0]), text)


def place_locals(text: str, pointers: bool) -> str:
    """Return the assembly with offsets for ``__local`` variables and a table of them for the host.

    ``pointers``: the kernel has ``__local`` pointers as parameters.
    """
    lines, inside, offset, most, align = [], False, 0, 16, 1
    # The names of source files are given where the first one is used: before anything that may be moved.
    names = [line for line in text.split("\n") if _FILE.match(line)]
    for line in text.split("\n"):
        if _FILE.match(line) or _WEAK.match(line):  # no other file uses a ``linkonce`` variable
            continue
        section = _SECTION.match(line)
        if section:
            inside = ".tbss" in section[2]
        if not inside:
            lines.append(_ADD.sub("", _HIGH_OR_LOW.sub(r"%\1(", line)))
        elif found := _ALIGN.match(line):
            align = 1 << int(found[1])
        elif label := _LABEL.match(line):
            offset = -(-offset // align) * align
            most, align = max(most, align), 1
            lines.append(f"\t.set\t{label[1]}, {offset}")
        elif size := _SIZE.match(line):
            offset += int(size[2])
    together = bool(offset) or pointers or bool(_BARRIER.search(text))
    table = ["\t.section\t.rodata.opencl,\"a\",@progbits", "\t.p2align\t2", f"\t.globl\t{TABLE}",
             f"\t.type\t{TABLE},@object", f"{TABLE}:", f"\t.word\t{offset}, {most}, {int(together)}",
             f"\t.size\t{TABLE}, 12", ""]
    return "\n".join([*names, *lines, *table])


def named(text: str, kernel: str) -> str:
    """Return the assembly in which the function that calls the kernel has the kernel's name, for messages.

    :data:`ENTRY` remains as a label. If the name is taken, the assembly is unchanged.
    """
    if re.search(rf"^{re.escape(kernel)}:|\bcall\s+{re.escape(kernel)}$", text, re.MULTILINE):
        return text
    text = re.sub(rf"^\s*\.globl\s+{ENTRY}\b.*$", "", text, count=1, flags=re.MULTILINE)
    text = re.sub(rf"\b{ENTRY}\b(?!\")", kernel, text)
    return text.replace(f"\n{kernel}:", f"\n\t.globl\t{ENTRY}\n{ENTRY}:\n{kernel}:", 1)
