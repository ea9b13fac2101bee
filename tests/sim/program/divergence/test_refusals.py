"""What cannot be made right on a warp is one line with file, line, function and reason; what looks like it is built."""

import re

import pytest

from metronome.sim.program.compiler.elf_cache import ToolchainError
from tests.sim.program.divergence.c_programs import LEVELS, build, marked_lines, program
from tests.sim.program.divergence.refusal_programs import ALLOWED, ALLOWED_BUT, FRAME, FRAMES, REFUSED
from tests.support.tiers import slow_then_more, some_long


def refusal(folder, text, level):
    with pytest.raises(ToolchainError) as error:
        build(folder, text, level)
    return str(error.value)


#: So many of each table are in `make check`, and so many in `make test`.
QUICK, USUAL = 5, 12


def with_marks(programs):
    tiers = [mark.marks for mark in slow_then_more(range(len(programs)), QUICK, USUAL)]
    return [pytest.param(*values, text, marks=[*marks, *tier], id=name)
            for tier, (name, (*values, marks, text)) in zip(tiers, programs.items(), strict=True)]


@pytest.mark.parametrize("level", some_long(LEVELS, 1))
@pytest.mark.parametrize(("reason", "text"), with_marks(REFUSED))
def test_what_is_refused(tmp_path, reason, text, level):
    said = refusal(tmp_path, text, level)
    found = re.fullmatch(rf"{tmp_path}/own\.c:(\d+): in (\w+): {re.escape(reason)}.*", said)
    assert found, said
    # Of a computed goto clang does not tell the line.
    assert "a jump" in reason or int(found[1]) in marked_lines(text), said
    assert found[2] == "thread"


@pytest.mark.parametrize("level", some_long(LEVELS, 1))
@pytest.mark.parametrize("body", FRAMES.values(), ids=FRAMES)
def test_what_needs_a_frame_pointer(tmp_path, body, level):
    text = program(body)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "void thread(" in line)
    first, *_ = refusal(tmp_path, text, level).splitlines()
    assert first.startswith(f"{tmp_path}/own.c:{line}: in thread: {FRAME}"), first


@pytest.mark.slow
@pytest.mark.parametrize("level", some_long(LEVELS, 1))
@pytest.mark.parametrize("text", with_marks({**{name: ((), text) for name, text in ALLOWED.items()}, **ALLOWED_BUT}))
def test_what_is_allowed(tmp_path, text, level):
    assert build(tmp_path, text, level).exists()
