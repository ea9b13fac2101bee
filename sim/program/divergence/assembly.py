"""Split the compiler's assembly into functions and blocks, and write it back."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

from .graph import Block, Function, Insertion, Virtual
from .instructions import INVERSE, NAMES, Instruction, parse

__all__ = ["ADDED", "Label", "Lines", "SimtError", "Source", "assembled", "split_source", "write"]

#: The comment after each line that the pass adds.
ADDED = "added"
_LABEL = re.compile(r"^([\w.$]+):\s*(?:#(.*))?$")
_FUNCTION = re.compile(r"^\s*\.type\s+([\w.$]+),@function")
_FILE = re.compile(r'^\s*\.file\s+"((?:[^"\\]|\\.)*)"')
#: The section that a data directive begins, empty if it does not say.
_SECTION = re.compile(r"^\s*\.(?:section\s+([\w.$]+)|(?:text|data|bss|pushsection|popsection|previous|subsection)\b)")
_READ_ONLY = re.compile(r"\.s?rodata\b")
_VISIBLE = re.compile(r"^\s*\.(?:globl|weak)\s+([\w.$]+)")
_ALIAS = re.compile(r"^\s*(?:\.set\s+)?([\w.$]+)\s*(?:,|=)\s*([\w.$]+)\s*(?:#.*)?$")
_CHAIN = re.compile(r"(?P<file>[^\s@\[\]][^@\[\]]*?):(?P<line>\d+):\d+")
#: METRONOME_LOOP_BOUND (metronome.h) in the compiler's output: a label that no jump targets, and another section.
_LOOP_LABEL, _LOOP_SECTION = ".Lmetronome_loop_", re.compile(r"\.section\s+\.metronome\.loops\b")
_END = re.compile(r"^\.Lfunc_end\d+:")


class SimtError(Exception):
    """A program that the pass refuses: one line with source line, function and reason."""


@dataclass
class Lines:
    """A function in the text: lines ``start`` (after its label) to ``end``."""

    name: str
    start: int
    end: int
    #: Instructions, labels and other lines, in order.
    items: list[Instruction | Label | str] = field(default_factory=list)
    #: Files of the line table that are named inside it: they must be known before the first line.
    files: list[str] = field(default_factory=list)
    #: Something that the pass cannot follow: the reason, and its source line.
    problems: list[tuple[str, str]] = field(default_factory=list)
    #: The beginning of the function: a ``.loc`` and a source line.
    place: str = ""
    source: str = ""


@dataclass(frozen=True)
class Label:
    """A label. ``taken``: its address is taken, so an indirect jump may go there."""

    name: str
    taken: bool = False


@dataclass
class Source:
    """One assembly file."""

    #: The C file that it was compiled from.
    name: str
    lines: list[str]
    functions: list[Lines]
    #: Symbols visible to other files, and aliases with the names they stand for.
    visible: set[str]
    aliases: dict[str, str]
    #: Labels before a function's own label, and the function's name.
    labels: dict[str, str] = field(default_factory=dict)
    #: Labels of data, and whether their section is never written.
    constant: dict[str, bool] = field(default_factory=dict)


def split_source(text: str) -> Source:
    """Find the functions of an assembly file and read their instructions."""
    lines = text.split("\n")
    source = Source("", lines, [], set(), {})
    names: set[str] = set()
    labels: list[str] = []
    section = ""
    number = 0
    while number < len(lines):
        line = lines[number]
        if (found := _LABEL.match(line)) and found[1] not in names:
            labels.append(found[1])
            source.constant[found[1]] = bool(_READ_ONLY.match(section))
            number += 1
            continue
        if found := _SECTION.match(line):
            section = found[1] or ""
        elif found := _FUNCTION.match(line):
            names.add(found[1])
        elif found := _VISIBLE.match(line):
            source.visible.add(found[1])
        elif found := _ALIAS.match(line):
            source.aliases[found[1]] = found[2]
        elif found := _FILE.match(line):
            source.name = found[1]
        elif (found := _LABEL.match(line)) and found[1] in names:
            end = next((place for place in range(number, len(lines)) if _END.match(lines[place])), len(lines))
            source.functions.append(_Reader(Lines(found[1], number + 1, end)).read(lines))
            source.labels |= dict.fromkeys(labels, found[1])
            number = end
            continue
        labels.clear()
        number += 1
    return source


class _Reader:
    """The reader's state at a line of a function."""

    def __init__(self, function: Lines) -> None:
        self.function = function
        self.place, self.source, self.statement = "", "", "1"
        self.inline = False
        #: Whether the line is in the section of METRONOME_LOOP_BOUND.
        self.aside = False

    def read(self, lines: list[str]) -> Lines:
        """Read all lines."""
        for line in lines[self.function.start : self.function.end]:
            stripped = line.strip()
            if stripped in ("#APP", "#NO_APP"):
                self.inline = stripped == "#APP"
            elif stripped.startswith(".loc"):
                self._set_place(stripped)
            elif found := _LABEL.match(stripped):
                if self.inline and not found[1].startswith(_LOOP_LABEL):
                    self._problem("inline assembly with a label")
                self.function.items.append(Label(found[1], "Block address taken" in (found[2] or "")))
            else:
                text, comment = _parted(stripped)
                for part in text.split(";") if self.inline else [text]:
                    self._statement(part.strip(), "Folded Spill" in comment or "Folded Reload" in comment)
        return self.function

    def _problem(self, what: str) -> None:
        self.function.problems.append((what, self.source))

    def _set_place(self, line: str) -> None:
        """``file line column is_stmt n`` of a ``.loc``; is_stmt holds until the next one sets it."""
        text, comment = _parted(line)
        words = text.split()[1:]
        if "is_stmt" in words:
            self.statement = words[words.index("is_stmt") + 1]
        flags = [word for word in words[3:] if word in ("prologue_end", "epilogue_begin")]
        self.place = " ".join([*words[:3], *flags, "is_stmt", self.statement])
        # a.h:3:1 @[ b.c:5:2 ]: inlined there. Lines of our own headers would not help the user.
        chain = [found for found in _CHAIN.finditer(comment) if found["line"] != "0"]
        own = [found for found in chain if not found["file"].startswith("riscv_kernels/runtime/")] or chain
        if own:
            self.source = f"{own[0]['file'].removeprefix('./')}:{own[0]['line']}"
        self.function.place = self.function.place or self.place
        self.function.source = self.function.source or self.source

    def _statement(self, text: str, spill: bool) -> None:
        if not text:
            return
        if text.startswith(".file"):
            self.function.files.append(text)
            return
        if self._is_aside(text) or (text.startswith(".") and not text.startswith(".insn") and not self.inline):
            self.function.items.append(text)
            return
        instruction = parse(text)
        if instruction is None:
            self._problem(f"an instruction that is not known: {text}")
            return
        if self.inline and instruction.kind in ("branch", "jump", "indirect", "return"):
            self._problem("inline assembly that jumps")
        self.function.items.append(replace(
            instruction, place=self.place, source=self.source, inline=self.inline, spill=spill and not self.inline
        ))

    def _is_aside(self, text: str) -> bool:
        """Whether a statement belongs to METRONOME_LOOP_BOUND: it adds nothing to the function."""
        was = self.aside
        if self.inline and _LOOP_SECTION.match(text):
            self.aside = True
        elif text == ".text" or text.startswith(".section"):
            self.aside = False
        return was or self.aside


def _parted(line: str) -> tuple[str, str]:
    """Split a line into code and comment."""
    if '"' in line:
        return line, ""
    text, _, comment = line.partition("#")
    return text.strip(), comment


def write(function: Function, place_of: dict[Virtual, int]) -> list[str]:
    """Return the lines of the function's body."""
    order = list(function.blocks.values())
    # A jump to a block that only returns is a return.
    returns = {block.name for block in order if block.kind == "return" and not block.items}
    lines: list[str] = []
    place = ""
    for position, block in enumerate(order):
        following = order[position + 1].name if position + 1 < len(order) else None
        lines.append(f"{block.name}:")
        ends = [*block.items, *_ending(block, following, returns)]
        # Labels whose address is taken were written as the block's name.
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


def _ending(block: Block, following: str | None, returns: Collection[str]) -> Iterator[Instruction | Insertion | str]:
    if block.kind == "jump":
        if block.targets[0] in returns:
            yield Insertion("ret")
        elif block.targets[0] != following:
            yield Insertion(f"j\t{block.targets[0]}")
    elif block.kind == "branch":
        assert block.branch is not None
        taken, other = block.targets
        branch = block.branch
        if taken == following and taken != other:
            branch, taken, other = _inverted(branch), other, taken
        yield _aimed(branch, taken)
        if other != following:
            yield Insertion(f"j\t{other}")
    elif block.end is not None:
        yield block.end


def _inverted(branch: Instruction | Insertion) -> Instruction | Insertion:
    if isinstance(branch, Insertion):
        op, rest = branch.text.split("\t", 1)
        return Insertion(f"{INVERSE[op]}\t{rest}", branch.writes, branch.reads)
    return replace(branch, op=INVERSE[branch.op])


def _aimed(branch: Instruction | Insertion, target: str) -> Instruction | Insertion:
    """Return the branch with its target: an inserted one has none in its text."""
    if isinstance(branch, Insertion):
        return Insertion(f"{branch.text}, {target}", branch.writes, branch.reads)
    return replace(branch, text=f"{branch.op}\t{', '.join([*branch.operands[:-1], target])}")


def _text(item: Instruction | Insertion, place_of: dict[Virtual, int]) -> str:
    if isinstance(item, Instruction):
        return item.text
    names = [NAMES[place_of[one] if isinstance(one, Virtual) else one] for one in (*item.writes, *item.reads)]
    return f"{item.text.format(*names)}\t# {ADDED}"


def assembled(source: Source, bodies: Iterable[tuple[Lines, list[str]]]) -> str:
    """Return the source with the given bodies in place of these functions' own."""
    lines = list(source.lines)
    for function, body in sorted(bodies, key=lambda pair: -pair[0].start):
        lines[function.start : function.end] = [*(f"\t{line}" for line in function.files), *body]
    return "\n".join(lines)
