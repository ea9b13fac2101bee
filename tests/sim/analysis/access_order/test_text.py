"""The listing as text: the example of Huangfu 2017, section III-D, and what the paper does not have."""

from dataclasses import replace

from metronome.hdl.presets import PAPER as PAPER_SIZE
from metronome.hdl.presets import TINY
from metronome.sim.analysis.access_order.records import Access, Grid, Listing, Place
from metronome.sim.analysis.access_order.text import text_of
from tests.sim.analysis.access_order.programs import compiled, listing_of

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


#: The kernel of that example.
KERNEL = """
volatile uint8_t memory[4096] __attribute__((aligned(4096)));

static void example(const void *unused)
{
    (void)unused;
    volatile float *const place = (volatile float *)(memory + 32 * threadIdx.x);
    if (blockIdx.y == 0)
        (void)place[1];
    else
        place[512 + threadIdx.y / 2 * 128] = 1.0f;
}

int main(void)
{
    const uint32_t grid[3] = {1, 2, 1}, block[3] = {16, 4, 1};
    region_begin();
    spawn_threads(3, grid, block, example, 0);
    region_end();
    return 0;
}
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


def test_the_kernel_of_that_example(tmp_path):
    """Our lines have half the bytes, so there are twice as many.

    There both warps store to the same places, which is a race: here the second one has its own.
    """
    launch = compiled(tmp_path, KERNEL, PAPER_SIZE)
    listing = listing_of(PAPER_SIZE, launch)
    start, _ = launch.image.symbols["memory"]
    own = [
        replace(each, lines=tuple(line - start // 64 for line in each.lines)) for each in listing.accesses
        if each.lines[0] * 64 in range(start, start + 4096)
    ]
    assert len({each.pc for each in own}) == 2
    text = written(replace(listing, sequence=own)).split("\n")
    assert text[2:4] == ["-grid [ 1 , 2 , 1 ]", "-block [ 16 , 4 , 1 ]"]
    load, *stores = (" , ".join(str(64 * number + first) for number in range(8)) for first in (0, 2048, 2048 + 512))
    loads_first = not own[0].store and own[0].pc < own[-1].pc
    told = []
    for block, name, lines in ((0, "L", (load, load)), (1, "S", stores)):
        told.append(f"Block [ 0 , {block} , 0 ]")
        for warp in (0, 1):
            place = (name == "L") != loads_first
            told += [
                f"Warp{warp} [ {'0 , 1' if place else '1 , 0'} ]",
                f"Warp{warp} [ {'None , ' * place}[ [ {lines[warp]} ] , {name} ]{' , None' * (not place)} ]",
            ]
    assert text[4:] == [*told, ""]


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
