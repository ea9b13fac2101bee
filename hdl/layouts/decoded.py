"""The decoder's output for an instruction word, and the entries of an instruction buffer."""

from amaranth.lib import data

from ..isa.ops import OP_BITS, Unit

__all__ = ["BufferEntry", "Decoded", "IssueInfo"]


class IssueInfo(data.Struct):
    """The part of a decoded instruction that decides whether it is ready: registers and unit.

    Register numbers have 6 bits: 0..31 integer, 32..63 floating point. A register that is not used, and x0,
    has its ``use_``/``writes_`` flag clear.
    """

    unit: Unit
    rd: 6
    rs1: 6
    rs2: 6
    rs3: 6
    use_rs1: 1
    use_rs2: 1
    use_rs3: 1
    writes_rd: 1
    #: A branch, jump, SIMT instruction or fence.i: the warp is not eligible again until it has resolved. Not a ``jal``
    #: that the front end has followed at decode.
    control: 1
    #: Waits until the warp's older instructions have completed (access to fflags, frm, fcsr).
    drain: 1
    #: Waits until the warp's stores have completed in memory (fence, fence.i). Together with ``drain``, with ordered
    #: channels: until nothing is in the load/store unit (access to mregion).
    fence: 1
    #: A store: the LSU counts it for the warp's fences from its selection on. Of an access to mregion, with ordered
    #: channels: it begins the region, and needs not wait if that is open.
    store: 1


class Decoded(data.Struct):
    """A decoded instruction."""

    info: IssueInfo
    op: OP_BITS
    #: The second operand is ``imm``, not rs2.
    use_imm: 1
    #: The first operand is the pc, not rs1.
    use_pc: 1
    #: The front end continues at pc + imm after this branch or ``jal``, not at pc + 4.
    predicted: 1
    #: Rounding-mode field of a floating-point instruction.
    rm: 3
    #: Sign-extended immediate; for CSR instructions the CSR number in 11..0 and the rs1 field in 16..12;
    #: for split and pred the negate flag in bit 0.
    imm: 32


class BufferEntry(data.Struct):
    """One slot of an instruction buffer (the NOP flags are kept apart, in the buffer itself)."""

    decoded: Decoded
    instruction: 32
    pc: 32
