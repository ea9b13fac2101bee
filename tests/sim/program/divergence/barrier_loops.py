"""Loops with a barrier in assembly, and whether the pass sees that all lanes leave them together."""

from metronome.sim.program.divergence import SimtError, insert_divergence

#: s5 is the lane's number, a0 and what is loaded with it the same in all lanes.
_PROGRAM = """
	.section	.text.k,"ax",@progbits
	.globl	k
	.type	k,@function
k:
	addi	sp, sp, -16
	lw	a1, 0(a0)
{body}
	addi	sp, sp, 16
	ret
.Lfunc_end0:
	.section	.{section},"a",@progbits
table:
	.word	5
"""
_LOOP = """
.Lloop:
	.insn r 11, 4, 0, zero, s8, s9
	addi	t0, t0, 1
	{branch}	t0, t1, .Lloop
"""


def _loop(before: str, branch: str = "bne", section: str = "rodata") -> tuple[str, str]:
    """The program in which t0 counts to t1, behind ``before``, and the section of ``table``."""
    lines = before.split("; ")
    text = "\n".join(line if line.endswith(":") else f"\t{line}" for line in lines)
    return text + _LOOP.format(branch=branch), section


#: On odd lanes, and where they meet again.
_ODD = "andi a2, s5, 1; beqz a2, .Lmeet; {}; .Lmeet:"
_AGAIN = "lui a3, %hi(table); addi a3, a3, %lo(table); lw t1, 0(a3); " + _ODD.format(
    "lui a3, %hi(table); addi a3, a3, %lo(table); lw t1, 0(a3)") + "; li t0, 0"
_EITHER = "mv t0, s5; slli t2, s5, 1; addi t1, s5, 9; beqz a1, .Lother; {}; j .Lhere; .Lother:; {}; .Lhere:"
_COUNT = "andi t0, s5, 3; li t1, 7; slli t2, s5, 1; .Lcount:; addi t0, t0, -1; {}, .Lcount; nop"
_SAVED = _EITHER.format(*(f"sw {name}, 8(sp) # 4-byte Folded Spill" for name in ("t0", "t2")))

#: What is expected, and the program: the barrier is "accepted" or "refused".
LOOPS = {
    "to the argument": ("accepted", _loop("li t0, 0; mv t1, a1")),
    "to the lane": ("refused", _loop("li t0, 0; mv t1, s5")),
    "from the lane to a distance": ("accepted", _loop("mv t0, s5; add t1, s5, a1")),
    "from the lane to a distance, by less": ("accepted", _loop("mv t0, s5; add t1, s5, a1", "bltu")),
    "from the lane to another lane's distance": ("refused", _loop("mv t0, s5; add t1, s5, s5")),
    "from the lane to a constant": ("refused", _loop("mv t0, s5; li t1, 9")),
    "from the lane to a constant, by less": ("refused", _loop("mv t0, s5; li t1, 9", "blt")),
    "a start moved in odd lanes": ("refused", _loop(f"mv t0, s5; addi t1, s5, 9; {_ODD.format('addi t0, t0, 1')}")),
    "an end moved in odd lanes": ("refused", _loop(f"mv t0, s5; addi t1, s5, 9; {_ODD.format('addi t1, s5, 8')}")),
    "one of two starts": ("refused", _loop(_EITHER.format("mv t0, s5", "mv t0, t2"))),
    "one of two saved starts": ("refused", _loop(f"{_SAVED}; lw t0, 8(sp) # 4-byte Folded Reload")),
    # (lane + 1) * a is lane * a + a.
    "from a row to the next": ("accepted", _loop("mul t0, s5, a1; addi t2, s5, 1; mul t1, a1, t2")),
    "from a row of rows to the next": (
        "accepted", _loop("mul t0, s5, a1; addi t0, t0, 2; mul t0, a0, t0; mul t1, s5, a0; mul t1, t1, a1")),
    "from the lane to its row": ("refused", _loop("mv t0, s5; mul t1, s5, a1")),
    "from a row to one of another width": ("refused", _loop("mul t0, s5, a1; mul t1, s5, a0")),
    "from a row of the lane's own width to the next": (
        "refused", _loop("add a2, a0, s5; lw a2, 4(a2); mul t0, s5, a2; addi t2, s5, 1; mul t1, a2, t2")),
    "a width that changes in odd lanes": (
        "refused", _loop(f"mul t0, s5, a1; {_ODD.format('addi a1, a1, 1')}; addi t2, s5, 1; mul t1, a1, t2")),
    "a square": ("refused", _loop("mul t0, s5, s5; addi t2, s5, 1; mul t1, s5, t2")),
    "to a constant that odd lanes load again": ("accepted", _loop(_AGAIN)),
    "to a variable that odd lanes load again": ("refused", _loop(_AGAIN, section="data")),
    "to the size that odd lanes load again": ("accepted", _loop(_AGAIN.replace("table", "__opencl_range"))),
    "to something unknown that odd lanes load again": ("refused", _loop(_AGAIN.replace("table", "somebody"))),
    "to another constant in odd lanes": ("refused", _loop(_AGAIN.replace("lw t1, 0(a3)", "lw t1, 4(a3)", 1))),
    "from the 0 that a loop of the lane ends with": ("accepted", _loop(_COUNT.format("bnez t0"))),
    "from what is no 0 at the end of a loop": ("refused", _loop(_COUNT.format("beqz t0"))),
    "from another value that a loop of the lane ends with": ("refused", _loop(_COUNT.format("bne t0, t2"))),
    "from a 0, or from what is none": (
        "refused", _loop("mv t0, s5; li t1, 7; beqz t0, .Lmeet; addi t0, t0, 1; .Lmeet:; nop")),
    "from a distance that is 0 in one lane": ("accepted", _loop(f"mv t0, s5; addi t1, s5, 9; {_ODD.format('nop')}"
                                                                .replace("beqz a2", "bnez t0"))),
    "to the lane's constant": ("refused", _loop("lui a3, %hi(table); add a3, a3, s5; lw t1, %lo(table)(a3); li t0, 0")),
}


def outcome(body: str, section: str) -> str:
    """Whether the barrier is accepted or refused, or what else goes wrong."""
    try:
        insert_divergence([_PROGRAM.format(body=body, section=section)], kernels=["k"])
    except SimtError as error:
        return "refused" if "where lanes of a warp may have diverged" in str(error) else str(error)
    return "accepted"


def compared_by_less() -> bool:
    """Whether a loop without a barrier keeps its lanes in a mask although their distances are the same."""
    body, section = _loop("mv t0, s5; add t1, s5, a1", "blt")
    text = _PROGRAM.format(body=body.replace(".insn r 11, 4, 0, zero, s8, s9", "nop"), section=section)
    return ".insn r 0x0B, 5," in insert_divergence([text], kernels=["k"])[0]


def wrong() -> list[str]:
    """A line for each loop that the pass takes for something else."""
    lines = [f"{name}: {found}" for name, (expected, program) in LOOPS.items()
             if (found := outcome(*program)) != expected]
    return lines if compared_by_less() else [*lines, "a loop by less without a barrier: no pred"]
