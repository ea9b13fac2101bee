"""The compiler's assembly, taken apart into functions and blocks and put together again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

from .graph import Block, Function, Made, Virtual
from .instructions import INVERSE, NAMES, Instruction, parse

__all__ = ["Label", "Lines", "SimtError", "Source", "assembled", "split_source", "write"]

_LABEL = re.compile(r"^([\w.$]+):\s*(?:#(.*))?$")
_FUNCTION = re.compile(r"^\s*\.type\s+([\w.$]+),@function")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+(?:"((?:[^"\\]|\\.)*)"\s+)?"((?:[^"\\]|\\.)*)"')
_END = re.compile(r"^\.Lfunc_end\d+:")


class SimtError(Exception):
    """What the pass refuses: one line with source line, function and reason."""


@dataclass
class Lines:
    """A function as it stands in the text: lines ``start`` (behind its label) to ``end``."""

    name: str
    start: int
    end: int
    #: Instructions, labels and other lines, in order.
    items: list[Instruction | Label | str] = field(default_factory=list)
    #: Something that cannot be followed: the reason, and its place.
    problems: list[tuple[str, str]] = field(default_factory=list)
    #: Where the function begins.
    place: str = ""


@dataclass(frozen=True)
class Label:
    """``taken``: its address is taken, so an indirect jump may go there."""

    name: str
    taken: bool = False
    inline: bool = False


@dataclass
class Source:
    """One assembly file."""

    lines: list[str]
    functions: list[Lines]
    #: Name of each file of the line table, by its number.
    files: dict[str, str]

    def where(self, place: str) -> str:
        """``file:line`` of a ``.loc``."""
        words = place.split()
        return f"{self.files.get(words[0], '?')}:{words[1]}" if len(words) > 1 else "?"


def _without_comment(line: str) -> str:
    return line.split("#", 1)[0].strip() if '"' not in line else line.strip()


def split_source(text: str) -> Source:
    """Find the functions of an assembly file and read their instructions."""
    lines = text.split("\n")
    files: dict[str, str] = {}
    functions: list[Lines] = []
    names: set[str] = set()
    number = 0
    while number < len(lines):
        line = lines[number]
        if found := _FILE.match(line):
            files[found[1]] = found[3]
        elif found := _FUNCTION.match(line):
            names.add(found[1])
        elif (found := _LABEL.match(line)) and found[1] in names:
            end = next((place for place in range(number, len(lines)) if _END.match(lines[place])), len(lines))
            functions.append(_read(Lines(found[1], number + 1, end), lines))
            number = end
            continue
        number += 1
    return Source(lines, functions, files)


def _read(function: Lines, lines: list[str]) -> Lines:
    place, inline, statement = "", False, "1"
    for line in lines[function.start : function.end]:
        stripped = line.strip()
        if stripped in ("#APP", "#NO_APP"):
            inline = stripped == "#APP"
        elif stripped.startswith(".loc"):
            place, statement = _place(stripped, statement)
            function.place = function.place or place
        elif found := _LABEL.match(stripped):
            if inline:
                function.problems.append(("inline assembly with a label", place))
            function.items.append(Label(found[1], "Block address taken" in (found[2] or ""), inline))
        else:
            for part in _without_comment(line).split(";") if inline else [_without_comment(line)]:
                _read_statement(function, part.strip(), place, inline)
    return function


def _place(line: str, statement: str) -> tuple[str, str]:
    """``file line column is_stmt n`` of a ``.loc``; is_stmt holds until another comes."""
    words = _without_comment(line).split()[1:]
    if "is_stmt" in words:
        statement = words[words.index("is_stmt") + 1]
    flags = [word for word in words[3:] if word in ("prologue_end", "epilogue_begin")]
    return " ".join([*words[:3], *flags, "is_stmt", statement]), statement


def _read_statement(function: Lines, text: str, place: str, inline: bool) -> None:
    if not text:
        return
    if text.startswith(".") and not text.startswith(".insn"):
        function.items.append(text)
        return
    instruction = parse(text)
    if instruction is None:
        function.problems.append((f"an instruction that is not known: {text}", place))
        return
    if inline and instruction.kind in ("branch", "jump", "indirect", "return"):
        function.problems.append(("inline assembly that jumps", place))
    function.items.append(instruction.at(place, inline))


def write(function: Function, place_of: dict[Virtual, int]) -> list[str]:
    """The lines of the function's body."""
    order = list(function.blocks.values())
    # A jump to nothing but a return is a return.
    returns = {block.name for block in order if block.kind == "return" and not block.items}
    lines: list[str] = []
    place = ""
    for position, block in enumerate(order):
        following = order[position + 1].name if position + 1 < len(order) else None
        lines.append(f"{block.name}:")
        ends = [*block.items, *_ending(block, following, returns)]
        # Labels whose address is taken have been written as the block's name.
        for item in ends:
            if item == f"{block.name}:":
                continue
            if isinstance(item, str):
                lines.append(item if item.endswith(":") else f"\t{item}")
                continue
            own = item.place if isinstance(item, Instruction) else block.place
            if own and own != place:
                lines.append(f"\t.loc\t{own}")
                place = own
            lines.append(f"\t{_text(item, place_of)}")
    return lines


def _ending(block: Block, following: str | None, returns: Collection[str]) -> Iterator[Instruction | Made | str]:
    if block.kind == "jump":
        if block.targets[0] in returns:
            yield Made("ret")
        elif block.targets[0] != following:
            yield Made(f"j\t{block.targets[0]}")
    elif block.kind == "branch":
        assert block.branch is not None
        taken, other = block.targets
        branch = block.branch
        if taken == following and taken != other:
            branch, taken, other = _inverted(branch), other, taken
        yield _aimed(branch, taken)
        if other != following:
            yield Made(f"j\t{other}")
    elif block.end is not None:
        yield block.end


def _inverted(branch: Instruction | Made) -> Instruction | Made:
    if isinstance(branch, Made):
        op, rest = branch.text.split("\t", 1)
        return Made(f"{INVERSE[op]}\t{rest}", branch.writes, branch.reads)
    return replace(branch, op=INVERSE[branch.op])


def _aimed(branch: Instruction | Made, target: str) -> Instruction | Made:
    """The branch with its target: a Made one has none in its text."""
    if isinstance(branch, Made):
        return Made(f"{branch.text}, {target}", branch.writes, branch.reads)
    return replace(branch, text=f"{branch.op}\t{', '.join([*branch.operands[:-1], target])}")


def _text(item: Instruction | Made, place_of: dict[Virtual, int]) -> str:
    if isinstance(item, Instruction):
        return item.text
    names = [NAMES[place_of[one] if isinstance(one, Virtual) else one] for one in (*item.writes, *item.reads)]
    return item.text.format(*names)


def assembled(source: Source, bodies: Iterable[tuple[Lines, list[str]]]) -> str:
    """The source with other bodies in place of these functions'."""
    lines = list(source.lines)
    for function, body in sorted(bodies, key=lambda pair: -pair[0].start):
        lines[function.start : function.end] = body
    return "\n".join(lines)
