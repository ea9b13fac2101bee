"""The shadow of memory."""

from metronome.sim.run.memcheck import Area, DeclaredAreas
from metronome.sim.run.memcheck.shadow import Flags


def test_a_load_from_one_address_may_be_the_first_of_its_page():
    area = Area("all", 0, 1 << 20, written=True)
    flags = Flags(DeclaredAreas((area,), (area,)))
    # The pool grows in between.
    assert [flags.read_one(page << 12, 4) for page in range(40)] == [0x0303_0303] * 40
