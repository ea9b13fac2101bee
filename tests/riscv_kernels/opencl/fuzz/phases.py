"""Parts of a random kernel: what its work-items do together, and what each does by itself."""

from collections.abc import Callable

import numpy as np

from tests.riscv_kernels.opencl.fuzz.expressions import Expressions, binary, compare, variable
from tests.riscv_kernels.opencl.fuzz.statements import (
    WAIT,
    Statement,
    assign,
    block,
    choose,
    declare_memory,
    load,
    loop,
    sequence,
    store,
)
from tests.riscv_kernels.opencl.fuzz.values import Expr, Work, literal

__all__ = ["Phases"]

#: Cells of a local array: as many as an index reaches.
CELLS = 64
_KINDS = ("uint", "uint", "int", "uchar", "ushort", "ulong", "float", "float4", "uint2", "float8")


def _plus(a: Expr, b: Expr, sign: str = "+") -> Expr:
    """Of indices, which are small."""
    function = {"+": np.add, "-": np.subtract, "*": np.multiply, "%": np.remainder}[sign]
    return Expr("int", f"({a.text} {sign} {b.text})", lambda work: function(a.value(work), b.value(work)))


def _number(number: int) -> Expr:
    return literal("int", number)


class Phases:
    """Writes them, with the objects and functions that they need."""

    def __init__(self, writer: Expressions, lanes: int, turns: int) -> None:
        self.writer, self.rng, self.lanes, self.turns = writer, writer.rng, lanes, turns
        #: Variables of the work-item.
        self.own: list[Expr] = []
        self.locals: list[str] = []
        self.types: list[str] = []
        self.functions: list[str] = []
        self.declarations: list[Callable[[Work], None]] = []
        #: Words of the local memory that the kernel is given.
        self.passed = 0
        self.names = 0
        self.l, self.all = (next(each for each in writer.variables["int"] if each.text == name)
                            for name in ("l", "lanes"))

    def name(self, start: str) -> str:
        self.names += 1
        return f"{start}{self.names}"

    def know(self, one: Expr) -> None:
        """From here on, expressions may have this variable."""
        self.own.append(one)
        self.writer.variables.setdefault(one.kind, []).append(one)

    def array(self, kind: str, count: int = CELLS) -> str:
        """A ``__local`` array, its type one of several that have elements of ``kind``."""
        name = self.name("shared")
        if kind == "uint" and not self.passed and self.rng.random() < 0.3:
            self.passed = count
            name = "passed"
        else:
            self.locals.append(f"__local {kind} {name}[{count}];")
        self.declarations.append(declare_memory(kind, name, count, shared=True))
        return name

    def scalar(self, kind: str) -> tuple[str, str]:
        """A ``__local`` object of one value: its name and how it is written."""
        name = self.name("one")
        self.declarations.append(declare_memory(kind, name, 1, shared=True))
        way = self.rng.randrange(4)
        if way == 0:
            type_name = self.name("record")
            self.types.append(f"typedef struct {{ uchar before; {kind} inner; int after[2]; }} {type_name};")
            self.locals.append(f"__local {type_name} {name};")
            return name, f"{name}.inner"
        if way == 1:
            self.locals.append(f"__local {kind} {name}[1];")
            return name, f"{name}[0]"
        if way == 2:
            self.locals += [f"__local {kind} {name}_object;", f"__local {kind} *const {name} = &{name}_object;"]
            return name, f"(*{name})"
        self.locals.append(f"__local {kind} {name};")
        return name, name

    def changed(self, one: Expr | None = None, depth: int = 2) -> Statement:
        """A variable gets a new value."""
        one = one or self.rng.choice(self.own)
        return assign(one.kind, one.text, self.writer.of(one.kind, depth))

    def folded(self, found: Expr) -> Statement:
        """What has been read goes into a variable of its kind."""
        known = [each for each in self.own if each.kind == found.kind]
        if not known:
            fresh = variable(found.kind, self.name("w"))
            self.know(fresh)
            return assign(found.kind, fresh.text, found, declare=True)
        one = self.rng.choice(known)
        if found.kind.startswith("float"):
            return assign(one.kind, one.text, Expr(
                one.kind, f"{one.text} + {found.text}", lambda work: one.value(work) + found.value(work)))
        return assign(one.kind, one.text, binary(self.rng.choice("+^"), one, found))

    def _other(self) -> Expr:
        """Another work-item's number."""
        shift = _number(self.rng.randrange(1, self.lanes))
        if self.rng.random() < 0.3:
            return _plus(_plus(self.all, _number(1), "-"), self.l, "-")
        return _plus(_plus(self.l, shift), self.all, "%")

    # ---- What the work-items do together ----

    def exchanged(self) -> list[Statement]:
        kind = self.rng.choice(_KINDS)
        name = self.array(kind)
        return [store(name, self.l, self.writer.of(kind, 2)), WAIT, self.folded(load(kind, name, self._other())), WAIT]

    def carried(self) -> list[Statement]:
        """All clear it, one replaces it, all read it."""
        kind = self.rng.choice(_KINDS)
        name, text = self.scalar(kind)
        zero = _number(0)
        first = self.writer.constant(kind)
        owner = compare("==", self.l, _number(self.rng.randrange(self.lanes)))
        found = load(kind, name, zero, text)
        parts = [store(name, zero, first, text), WAIT] if self.rng.random() < 0.8 else []
        parts += [self.folded(found), WAIT] if parts and self.rng.random() < 0.3 else []
        parts += [choose(owner, store(name, zero, self.writer.of(kind, 2), text)), WAIT, self.folded(found), WAIT]
        return parts

    def in_a_function(self) -> list[Statement]:
        """A function of the source that waits at a barrier."""
        name, array = self.name("hand_on"), self.array("uint")
        attribute = self.rng.choice(("", "", "static ", "__attribute__((noinline)) "))
        self.functions.append(
            f"{attribute}uint {name}(__local uint *cells, uint given, int me, int all_of)\n{{\n    cells[me] = given;\n"
            "    barrier(CLK_LOCAL_MEM_FENCE);\n    const uint found = cells[(me + 1) % all_of];\n"
            "    barrier(CLK_LOCAL_MEM_FENCE);\n    return found;\n}")
        fresh, given = variable("uint", self.name("w")), self.writer.of("uint", 1)

        def run(work: Work) -> None:
            work.store(array, self.l.value(work), given.value(work))
            work.wait()
            work.set(fresh.text, "uint", work.load(array, (self.l.value(work) + 1) % self.lanes))
            work.wait()

        text = f"uint {fresh.text} = {name}({array}, {given.text}, l, lanes);"
        return [Statement((text,), run), self.folded(fresh)]

    def reduced(self) -> list[Statement]:
        """A tree of sums."""
        name, far = self.array("uint"), variable("int", self.name("far"))
        here, there = load("uint", name, self.l), load("uint", name, _plus(self.l, far))
        inside = Expr("int", f"l < {far.text} && l + {far.text} < lanes", lambda work: (
            (self.l.value(work) < far.value(work)) & (self.l.value(work) + far.value(work) < self.lanes)))
        half = Expr("int", f"{far.text} >> 1", lambda work: far.value(work) >> 1)
        step = assign("int", far.text, half)
        body = sequence([choose(inside, store(name, self.l, binary("+", here, there))), WAIT, step])
        shown = sequence([choose(inside, store(name, self.l, binary("+", here, there))), WAIT])
        start = assign("int", far.text, _number(self.rng.choice((4, 8, 16))), declare=True)
        head = f"for (int {far.text} = {start.lines[0].split(' = ')[1]} {far.text} > 0; {far.text} >>= 1)"
        return [store(name, self.l, self.writer.of("uint", 1)), WAIT,
                loop(block(head, shown), start, compare(">", far, _number(0)), body),
                self.folded(load("uint", name, _number(0))), WAIT]

    # ---- Loops around a barrier ----

    def _bound(self) -> Expr:
        """The same for all work-items of a group."""
        way = self.rng.randrange(6)
        if way == 0:
            return Expr("int", "turns", lambda work: np.int32(self.turns))
        if way == 1:
            return self.all
        if way == 2:
            return Expr("int", "(int)get_group_id(0) + 1", lambda work: work.group.astype(np.int32) + 1)
        if way == 3:
            return Expr("int", "(int)get_num_groups(0) + 2", lambda work: np.int32(work.groups + 2))
        return _number(self.rng.randrange(1, 8))

    def _know(self, turn: Expr) -> None:
        """From here on, within the loop, expressions may have its counter."""
        if self.rng.random() < 0.5:
            self.writer.variables["int"].append(turn)

    def _body(self, turn: Expr) -> list[Statement]:
        """Statements with a barrier; ``turn`` is between 0 and 16. What they need is in front of the loop."""
        way = self.rng.randrange(5)
        if way <= 1:
            kind = self.rng.choice(("uint", "int", "float", "uchar"))
            name, j = self.array(kind), variable("int", self.name("fill"))
            value = self.writer.of(kind, 1)
            step = assign("int", j.text, _plus(j, self.all))
            head = f"for (int {j.text} = l; {j.text} < {CELLS}; {j.text} += lanes)"
            self.before.append(loop(block(head, store(name, j, value)), assign("int", j.text, self.l, declare=True),
                                    compare("<", j, _number(CELLS)), sequence([store(name, j, value), step])))
            self._know(turn)
            index = self.rng.choice((
                _plus(self.l, turn), _plus(_plus(self.l, _plus(turn, _number(2), "*")), _number(3)),
                _plus(_plus(_number(40), self.l, "-"), turn, "-"), _plus(turn, _number(3), "*"),
                _plus(_plus(self.l, _plus(turn, self.all, "*")), _number(CELLS), "%"),
                _plus(_plus(self.l, turn), self.all, "%"),
            ))
            own = self.rng.random() < 0.4
            return [WAIT, self.folded(load(kind, name, index)),
                    *([WAIT, store(name, self.l, self.writer.of(kind, 1))] if own else [])]
        if way == 2:
            name, text = self.scalar("uint")
            zero, found = _number(0), load("uint", name, _number(0), text)
            owner = compare("==", self.l, _plus(turn, self.all, "%"))
            clear = [store(name, zero, self.writer.constant("uint"), text), WAIT] if self.rng.random() < 0.5 else []
            if not clear:
                self.before += [store(name, zero, self.writer.constant("uint"), text)]
                clear = [WAIT]
            self._know(turn)
            return [*clear, choose(owner, store(name, zero, self.writer.of("uint", 1), text)), WAIT, self.folded(found),
                    WAIT]
        if way == 3:
            name = self.array("uint")
            self.before += [store(name, self.l, self.writer.of("uint", 1))]
            fresh = self.name("w")
            self._know(turn)
            return [WAIT, assign("uint", fresh, load("uint", name, self._other()), declare=True), WAIT,
                    store(name, self.l, binary("+", variable("uint", fresh), self.writer.of("uint", 0)))]
        self._know(turn)
        return [*self.alone(), *self.exchanged()]

    def around_a_barrier(self) -> list[Statement]:
        """A loop that all work-items of a group leave together, in one of many shapes."""
        self.before: list[Statement] = []
        turn = variable("int", self.name("turn"))
        bound = self._bound()
        inner = list(self.own)
        known = {kind: list(each) for kind, each in self.writer.variables.items()}
        body = self._body(turn)
        # A variable that is made in the loop is not known outside it.
        self.own, self.writer.variables = inner, known
        made = self._shape(turn, bound, body)
        scoped = Statement(("{", *(f"    {line}" for line in made.lines), "}"), made.run)
        return [*self.before, scoped, WAIT]

    def _shape(self, turn: Expr, bound: Expr, body: list[Statement]) -> Statement:
        name, limit, whole = turn.text, bound.text, sequence(body)
        up = assign("int", name, _plus(turn, _number(1)))
        less, done, counted = compare("<", turn, bound), sequence([*body, up]), Statement((f"{name}++;",), up.run)
        first = _number(0)
        start = assign("int", name, first, declare=True)
        way = self.rng.randrange(8)
        if way in (2, 3):
            head, foot = (f"while ({less.text})", "}") if way == 2 else ("do", f"}} while {less.text};")
            lines = block(head, sequence([*body, counted]), foot)
            return loop((*start.lines, *lines), start, less, done, first=way == 2)
        if way == 4:
            down = assign("int", name, _plus(turn, _number(1), "-"))
            return loop(block(f"for (int {name} = {limit}; {name} > 0; {name}--)", whole),
                        assign("int", name, bound), compare(">", turn, first), sequence([*body, down]))
        if way == 5:
            step = _number(self.rng.choice((2, 3)))
            stepped = sequence([*body, assign("int", name, _plus(turn, step))])
            return loop(block(f"for (int {name} = 0; {name} < {limit}; {name} += {step.text})", whole), start, less,
                        stepped)
        if way == 6:
            twice = assign("int", name, _plus(turn, _number(2), "*"))
            return loop(block(f"for (int {name} = 1; {name} <= {limit}; {name} <<= 1)", whole),
                        assign("int", name, _number(1)), compare("<=", turn, bound), sequence([*body, twice]))
        if way == 7:
            last = Statement((f"if (++{name} >= {limit})", "    break;"), up.run)
            return loop((*start.lines, *block("for (;;)", sequence([*body, last]))), start, less, done, first=False)
        return loop(block(f"for (int {name} = 0; {name} < {limit}; {name}++)", whole), start, less, done)

    # ---- What a work-item does by itself ----

    def alone(self) -> list[Statement]:
        way = self.rng.randrange(5)
        if way == 0:
            other = self.changed() if self.rng.random() < 0.5 else None
            return [choose(self.writer.condition(), sequence([self.changed(), self.changed()]), other)]
        if way == 1:
            turn = variable("int", self.name("turn"))
            bound = Expr("int", "(int)(v0 & 7)", lambda work: (work.variables["v0"] & np.uint32(7)).astype(np.int32))
            one = self.rng.choice([each for each in self.own if each.text != "v0"])
            body = self.changed(one)
            up = assign("int", turn.text, _plus(turn, _number(1)))
            head = f"for (int {turn.text} = 0; {turn.text} < {bound.text}; {turn.text}++)"
            return [loop(block(head, body), assign("int", turn.text, _number(0)), compare("<", turn, bound),
                         sequence([body, up]))]
        if way == 2:
            return self._private()
        return [self.changed() for _ in range(2)]

    def _private(self) -> list[Statement]:
        """An array of the work-item, indexed by what differs between them."""
        kind = self.rng.choice(("uint", "float4", "float8", "uchar", "ulong", "int8", "long4", "ushort2"))
        name, count = self.name("mine"), 4
        declaration = Statement((f"{kind} {name}[{count}];",), declare_memory(kind, name, count, shared=False))
        stores = [store(name, _number(place), self.writer.of(kind, 1)) for place in range(count)]
        index = Expr("int", "(int)(v0 & 3)", lambda work: (work.variables["v0"] & np.uint32(3)).astype(np.int32))
        turned = Expr("int", "((int)(v0 & 3) ^ 1)", lambda work: index.value(work) ^ 1)
        scoped = sequence([*stores, store(name, turned, self.writer.of(kind, 1))])
        return [declaration, scoped, self.folded(load(kind, name, index))]

    def of_kernel(self, loops: int) -> list[Statement]:
        """Some of all."""
        together = [self.exchanged, self.carried, self.carried, self.reduced, self.in_a_function]
        chosen = [self.rng.choice(together) for _ in range(self.rng.randrange(1, 4))]
        chosen += [self.around_a_barrier] * (loops * self.rng.randrange(1, 3))
        chosen += [self.alone] * self.rng.randrange(1, 4)
        self.rng.shuffle(chosen)
        return [each for make in chosen for each in make()]
