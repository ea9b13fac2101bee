"""Split a function's lines into basic blocks."""

from __future__ import annotations

from .assembly import Label, Lines
from .graph import Block, Function
from .instructions import Instruction

__all__ = ["blocks_of"]


def blocks_of(lines: Lines) -> Function:
    """Return the function's blocks, with one return at their end and an entry that no jump targets.

    Raises
    ------
    KeyError
        With the target of a jump to another function: it cannot be followed.
    """
    builder = _Builder(lines)
    for item in lines.items:
        builder.take(item)
    function = builder.finish()
    for block in function.blocks.values():
        for target in block.targets:
            if target not in function.blocks:
                raise KeyError(target)
    _thread(function)
    for block in function.blocks.values():
        places = [item.place for item in block.instructions if item.place]
        block.place = places[-1] if places else lines.place
    return function


class _Builder:
    def __init__(self, lines: Lines) -> None:
        self.function = Function(lines.name, {})
        self.last = Block(self.function.fresh("return"), kind="return")
        self.targets = {
            item.target for item in lines.items if isinstance(item, Instruction) and item.kind in ("jump", "branch")
        }
        self.taken = [item.name for item in lines.items if isinstance(item, Label) and item.taken]
        #: The block being filled, or None after a jump.
        self.open: Block | None = self._begin(self.function.fresh("entry"))
        #: Lines after a jump that are not instructions: they belong to the next block.
        self.waiting: list[str] = []
        self._enter(self._begin(self.function.fresh("block")))

    def _begin(self, name: str) -> Block:
        self.function.blocks[name] = Block(name)
        return self.function.blocks[name]

    def _enter(self, block: Block) -> None:
        """Continue in another block."""
        if self.open is not None:
            self.open.targets.append(block.name)
        self.open = block
        block.items, self.waiting = [*self.waiting], []

    def take(self, item: Instruction | Label | str) -> None:
        """Read the next line."""
        if isinstance(item, Label) and (item.name in self.targets or item.taken):
            self._enter(self._begin(item.name))
            assert self.open is not None
            self.open.items += [f"{item.name}:"] if item.taken else []
        elif isinstance(item, Instruction):
            if self.open is None:
                self._enter(self._begin(self.function.fresh("block")))
            self._instruction(item)
        else:
            text = f"{item.name}:" if isinstance(item, Label) else item
            if self.open is None:
                self.waiting.append(text)
            else:
                self.open.items.append(text)

    def _instruction(self, item: Instruction) -> None:
        block = self.open
        assert block is not None
        if item.kind in ("plain", "load", "store", "call", "simt"):
            block.items.append(item)
            return
        self.open = None
        if item.kind == "branch":
            following = self._begin(self.function.fresh("block"))
            block.kind, block.branch, block.targets = "branch", item, [item.target, following.name]
            self.open = following
        elif item.kind == "jump":
            block.targets = [item.target]
        elif item.kind == "return":
            block.targets, self.last.end = [self.last.name], item
        else:
            block.kind, block.end = item.kind, item
            block.targets = list(self.taken) if item.kind == "indirect" else []

    def finish(self) -> Function:
        """Return the function, with its return."""
        self._enter(self.last)
        self.function.blocks[self.last.name] = self.last
        return self.function


def _is_empty(function: Function, name: str) -> bool:
    """Whether the block has only debug labels and then jumps."""
    block = function.blocks[name]
    return block.kind == "jump" and name != function.entry and block.targets != [name] and all(
        isinstance(item, str) and item.endswith(":") and item != f"{name}:" for item in block.items
    )


def _thread(function: Function) -> None:
    """Redirect edges past empty blocks, and drop these blocks; their labels go to the next block."""
    def goal(name: str) -> str:
        seen = {name}
        while _is_empty(function, name) and function.blocks[name].targets[0] not in seen:
            name = function.blocks[name].targets[0]
            seen.add(name)
        return name

    for block in function.blocks.values():
        block.targets = [goal(target) for target in block.targets]
    used = {target for block in function.blocks.values() for target in block.targets}
    names = list(function.blocks)
    for place, name in enumerate(names[:-1]):
        if _is_empty(function, name) and name not in used:
            following = function.blocks[names[place + 1]]
            following.items = [*function.blocks.pop(name).items, *following.items]
