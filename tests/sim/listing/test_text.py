"""The listing as text: the example of Huangfu 2017, section III-D, and what the paper does not have."""

from dataclasses import replace

from metronome.hdl.presets import TINY
from metronome.sim.listing.records import Access, Grid, Listing, Place
from metronome.sim.listing.text import text_of

#: As printed there.
PAPER = """\
-num_pcs 2
-pc_addrs [ 64 , 80 ]
-grid [ 1 , 2 , 1 ]
-block [ 16 , 4 , 1 ]
Block [ 0 , 0 , 0 ]
Warp0 [ 1 , 0 ]
Warp0 [ [ [ 0 , 128 , 256 , 384 ] , L ] , None ]
Warp1 [ 1 , 0 ]
Warp1 [ [ [ 0 , 128 , 256 , 384 ] , L ] , None ]
Block [ 0 , 1 , 0 ]
Warp0 [ 0 , 1 ]
Warp0 [ None , [ [ 2048 , 2176 , 2304 , 2432 ] , S ] ]
Warp1 [ 0 , 1 ]
Warp1 [ None , [ [ 2048 , 2176 , 2304 , 2432 ] , S ] ]
"""


def access(group, member, pc, store, first, epoch=0):
    block = (0, group, 0)
    lines = tuple(range(first, first + 8, 2))
    return Access(2 * group + member, pc, store, lines, epoch, Place(group, member, block), True)


def example():
    accesses = [access(0, 0, 64, False, 0), access(0, 1, 64, False, 0), access(1, 0, 80, True, 32),
                access(1, 1, 80, True, 32)]
    return Listing(tuple(accesses), (Grid((1, 2, 1), (16, 4, 1)),), 0, True)


def written(listing):
    return "".join(f"{line}\n" for line in text_of(listing, TINY))


def test_the_example_of_the_paper():
    assert written(example()) == PAPER


def test_the_order_of_accesses_does_not_matter_but_within_a_warp():
    listing = example()
    assert written(replace(listing, sequence=listing.sequence[::-1])) == PAPER


def test_a_loop_has_several_instances():
    listing = example()
    again = access(0, 1, 64, False, 1, epoch=1)
    text = written(replace(listing, sequence=(*listing.sequence, again))).split("\n")
    assert text[7:9] == [
        "Warp1 [ 2 , 0 ]",
        "Warp1 [ [ [ 0 , 128 , 256 , 384 ] , [ 64 , 192 , 320 , 448 ] , L ] , None ]",
    ]


def test_what_is_outside_of_blocks_comes_first():
    listing = example()
    main = Access(0, 64, False, (9,), 0, Place(0, 0, None), True)
    text = written(replace(listing, sequence=(*listing.sequence, main))).split("\n")
    assert text[4:7] == ["Block None", "Warp0 [ 1 , 0 ]", "Warp0 [ [ [ 576 ] , L ] , None ]"]
    assert text[7] == "Block [ 0 , 0 , 0 ]"


def test_without_groups_the_machine_is_the_block():
    accesses = (Access(1, 16, True, (2, 1), 0, Place(0, 1, None), True),)
    assert written(Listing(accesses, (), 0, True)) == (
        "-num_pcs 1\n-pc_addrs [ 16 ]\n-grid [ 1 , 1 , 1 ]\n-block [ 4 , 1 , 1 ]\n"
        "Block [ 0 , 0 , 0 ]\nWarp1 [ 1 ]\nWarp1 [ [ [ 128 , 64 ] , S ] ]\n"
    )


def test_what_is_not_in_the_region_is_not_listed():
    listing = example()
    other = Access(0, 12, False, (9,), 0, Place(0, 0, None), False)
    assert written(replace(listing, sequence=(other, *listing.sequence))) == PAPER
