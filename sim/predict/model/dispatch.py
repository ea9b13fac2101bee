"""The unit of a GPU that hands out blocks, and the port of each SM to it, cycle by cycle (hdl/gpu/dispatch.py)."""

from ...machine.events import NONE
from .compiled import inlined
from .records import record

__all__ = [
    "DYNAMIC", "NO_DISPATCH", "SM_DISPATCH", "STATIC", "UNIT", "accepts", "begin", "offer", "see", "take", "takes",
    "tick", "tick_unit",
]

NO_DISPATCH, STATIC, DYNAMIC = range(3)
#: The answer if no block is left, as hdl.gpu.config.NO_BLOCK.
_NO_BLOCK = 0xFFFF_FFFF
#: The bytes of the first word of a line, as a mask.
_FIRST_WORD = 0xF

#: ``kind``, and the ``line`` that it answers. State: the blocks of the grid; with dynamic, the next one (``following``)
#: and how many are taken in this cycle. ``launches``: the SM that launches a grid in this cycle, or NONE, and the
#: ``entry`` of its write buffer whose first word is the number of blocks. The caller sets ``blocks``: the machine does
#: not know the bytes.
UNIT = record("kind line blocks following taken launches entry")

#: The port of an SM. ``next``: with static, its next block. ``waits``: an answer waits, with its ``tag`` and
#: ``number``. ``held``: the SM has not taken memory's answer that it was offered in the last cycle. In this cycle:
#: whether memory offers an answer (``above``), whether the SM is offered the number of a block (``first``), and whether
#: a block is taken. It is one of a load: the caller refuses to fetch instructions from the line.
SM_DISPATCH = record("next waits tag number held above first taken")


@inlined
def begin(unit, ports, sms):
    """Begin a cycle."""
    unit.launches, unit.taken = NONE, 0
    for i in range(sms):
        ports[i, 0].taken = 0


@inlined
def offer(mine, box):
    """Replace memory's answer to an SM by that of the unit, if it goes first; ``box``: the PORT of the SM."""
    mine.above, mine.first = box.response_valid, mine.waits and not mine.held
    if mine.first:
        box.response_valid, box.response_error, box.response_tag = 1, 0, mine.tag


@inlined
def takes(unit, m, fetch, lsu_asks, store):
    """Whether an SM offers a read of the line; the parameters are those of :func:`.port.accept`."""
    box, lsu = m.port[0], m.lsu[0]
    if fetch != NONE and not box.held:
        return m.front[box.fetch_turn].mshr_line[fetch] == unit.line
    return lsu_asks and not store and lsu.miss_line[lsu.unsent[lsu.unsent_first]] == unit.line


@inlined
def accepts(mine):
    """Whether a read of the line is accepted in this cycle."""
    return not mine.waits


@inlined
def take(unit, mine, tag, sms):
    """Accept a read of the line, with the request's ``tag``. SMs that take blocks in a cycle do so by their numbers."""
    block = mine.next if unit.kind == STATIC else unit.following + unit.taken
    if unit.kind == STATIC and block < unit.blocks:
        mine.next += sms
    unit.taken += 1
    mine.taken, mine.tag, mine.number = 1, tag, block if block < unit.blocks else _NO_BLOCK


@inlined
def see(unit, i, line, write, bytes_, entry):
    """See a request of SM ``i`` that memory's side accepts: a write of the line's first word launches a grid."""
    if line == unit.line and write and bytes_ & _FIRST_WORD == _FIRST_WORD and unit.launches == NONE:
        unit.launches, unit.entry = i, entry


@inlined
def tick(mine, answer_taken):
    """End the cycle of a port; ``answer_taken``: the SM has taken the answer that it was offered."""
    mine.held = mine.above and not mine.first and not answer_taken
    if mine.taken:
        mine.waits = 1
    elif mine.first and answer_taken:
        mine.waits = 0


@inlined
def tick_unit(unit, ports, sms):
    """End the cycle of the unit; return whether a block was taken or a grid launched."""
    if unit.launches != NONE:
        unit.following = 0
        for i in range(sms):
            ports[i, 0].next = i
    else:
        unit.following += unit.taken
    return unit.launches != NONE or unit.taken > 0
