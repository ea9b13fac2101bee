"""The runtime on the golden model: thread mapping, groups and barriers, start-up, and the rest of metronome.h."""

import itertools
import struct
from dataclasses import replace

import numpy as np
import pytest

from metronome.hdl.presets import BASE, MID, PAPER, PRESETS, TINY
from metronome.sim.program.compiler.elf_cache import ToolchainError, build_elf
from metronome.sim.program.elf import load_elf
from metronome.sim.program.kernels import Launch
from tests.riscv_kernels.iss_runs import PROGRAMS, RESULTS, run_launch, run_program
from tests.support.tiers import some_long

MAPPING = PROGRAMS / "mapping.c"
GROUPS = PROGRAMS / "groups.c"
SERVICES = PROGRAMS / "services.c"
POLICIES = PROGRAMS / "policies.c"
THREE_WARPS = replace(BASE, warps=3, threads=4)


def padded(sizes):
    return (*sizes, *(1,) * (3 - len(sizes)))


def check_mapping(config, grid, block):
    """Run mapping.c over grid and block and compare what every thread noted with what it should be."""
    # Entries beyond the dimension are garbage on purpose.
    given = (*grid, *(99,) * (3 - len(grid))), (*(block or ()), *(77,) * (3 - len(block or ())))
    run = run_program(MAPPING, config, (len(grid), *given[0], *given[1], int(block is not None)))
    label = f"{config.warps}x{config.threads} grid {grid} block {block}"
    assert run.exit_code == 0, label
    (gx, gy, gz), (bx, by, bz) = padded(grid), padded(block or ())
    size = bx * by * bz
    expected = [
        (1, x, y, z, tx, ty, tz)
        for z, y, x in itertools.product(range(gz), range(gy), range(gx))
        for tz, ty, tx in itertools.product(range(bz), range(by), range(bx))
    ]
    cells = run.words(RESULTS, 12 * len(expected)).reshape(-1, 12)
    assert cells[:, :7].tolist() == [list(row) for row in expected], label
    assert not run.words(RESULTS + cells.nbytes, 64).any(), f"{label}: written behind the last thread"
    check_places(config, cells, size, label)


def check_places(config, cells, size, label):
    """Lanes, masks, stacks and local memory slices fit the warps that the threads say they ran on."""
    group_warps = -(-size // config.threads)
    blocks = cells.reshape(-1, size, 12)
    for block in blocks.astype(np.int64):
        warp, lane, local, mask, stack = block[:, 7:].T
        assert ((mask >> lane) & 1).all(), label
        if size > 1:
            position = (warp % group_warps) * config.threads + lane
            assert position.tolist() == list(range(size)), label
            # The last warp of a block has only the lanes that are left.
            assert mask[-1].item().bit_count() == size - (group_warps - 1) * config.threads, label
            assert len(set(local.tolist())) == 1, label
            assert local[0] == 0xFFFF0000 + 16 * (warp[0] // group_warps), label
        else:
            assert local[0] == 0xFFFF0000 + 16 * (warp[0] * config.threads + lane[0]), label
        top = 0xFFFF0000 - 8192 * (warp * config.threads + lane)
        assert ((top - 8192 < stack) & (stack <= top)).all(), label


@pytest.mark.slow
@pytest.mark.parametrize("preset", some_long(PRESETS, 1))
def test_grids_of_single_threads(preset):
    config = PRESETS[preset]
    threads, harts = config.threads, config.harts
    for tasks in (1, threads - 1, threads, threads + 1, harts - 1, harts, harts + 1, 2 * harts + 3):
        check_mapping(config, (tasks,), None)
    for grid in ((5, 3), (1, 7), (7, 1), (3, 2, 5), (2, 1, 3)):
        check_mapping(config, grid, None)
    check_mapping(config, (6,), (1,))


@pytest.mark.slow
@pytest.mark.parametrize("config", some_long([THREE_WARPS, BASE, MID, PAPER], 1), ids=["3x4", "BASE", "MID", "PAPER"])
def test_blocks(config):
    threads, harts = config.threads, config.harts
    sizes = {2, threads - 1, threads, threads + 1, 2 * threads, 2 * threads + 1, harts - 1, harts} - {0, 1}
    for size in sorted(size for size in sizes if size <= harts):
        for blocks in (1, 2, 7):
            check_mapping(config, (blocks,), (size,))


def test_blocks_of_several_dimensions():
    for config in (BASE, MID):
        for grid, block in (((3, 2), (2, 3)), ((2, 2, 2), (2, 1, 3)), ((1, 5), (5, 1)), ((2, 1, 3), (1, 1, 2))):
            check_mapping(config, grid, block)


def test_work_spreads_over_all_warps():
    run = run_program(MAPPING, PAPER, (1, 1024, 0, 0, 0, 0, 0, 0))
    cells = run.words(RESULTS, 12 * 1024).reshape(-1, 12)
    assert sorted({(warp, lane) for warp, lane in cells[:, 7:9].tolist()}) == [
        (warp, lane) for warp in range(32) for lane in range(32)
    ]


def test_an_empty_grid_runs_nothing_and_a_block_too_large_is_refused():
    for grid, block, status in (((0,), None, 0), ((3, 0), None, 0), ((3,), (0,), 0), ((1,), (17,), 0xFFFF_FFFF)):
        arguments = (len(grid), *padded(grid), *padded(block or ()), int(block is not None))
        run = run_program(MAPPING, BASE, arguments)
        assert run.exit_code == status, (grid, block)
        assert not run.words(RESULTS, 64).any(), (grid, block)


@pytest.mark.slow
@pytest.mark.parametrize(
    "config", some_long([TINY, THREE_WARPS, BASE, MID, PAPER], 2), ids=["TINY", "3x4", "BASE", "MID", "PAPER"]
)
def test_barriers_and_local_memory(config):
    for size in sorted({2, config.threads + 1, config.harts // 2, config.harts - 1, config.harts} - {1}):
        for blocks in (1, 3, 5):
            run = run_program(GROUPS, config, (blocks, size))
            assert run.exit_code == 0
            thread = np.arange(size)
            expected = np.concatenate([block * 1000 + (thread + 4) % size + 6 for block in range(blocks)])
            got = run.words(RESULTS, blocks * size)
            assert np.array_equal(got, expected), f"{config.warps}x{config.threads}: {blocks} blocks of {size}"


@pytest.mark.parametrize("config", [TINY, BASE, PAPER], ids=["TINY", "BASE", "PAPER"])
def test_services(config):
    threads = 40
    run = run_program(SERVICES, config, (threads,))
    assert run.exit_code == 42
    head = run.words(RESULTS, 13).tolist()
    assert head[:6] == [0, 11, 22, 33, 0x5A5A5A5A, 0x5A5A5A5A]
    assert head[6:11] == [config.threads, config.warps, 1, 1, 0]
    assert 0xFFFEE000 < head[11] <= 0xFFFF0000
    assert head[12] == 76
    cells = run.words(RESULTS + 256, 4 * threads).reshape(-1, 4)
    index = np.arange(threads)
    signed = np.where(index % 2 == 1, index, -index.astype(np.float32)).astype(np.float32)
    assert np.array_equal(cells[:, 0], signed.view(np.uint32))
    assert cells[:, 1].tolist() == [872 * i for i in range(threads)]
    assert cells[:, 2].tolist() == [(24 if i % 3 == 0 else 6) + i for i in range(threads)]
    # The last character that each console slot received.
    slots = {}
    for i in range(threads):
        slots[i % config.harts % 64] = ord("A") + i
    for slot, character in slots.items():
        assert run.memory.read(0x40 + slot, 1)[0] == character, f"console slot {slot}"


def test_parameters_of_policies():
    """A value or slot that has too many bits is none that can be; without policy_csr nothing is kept."""
    words = [0, 0x0100_0002, 0x0200_0007, 0x0300_FFFF, 0x0500_0100, 0x0407_003F, 0x0000_0001]
    for config, expected in ((replace(BASE, policy_csr=True), words), (BASE, [0] * 7)):
        run = run_program(POLICIES, config, (7,))
        assert (run.exit_code, run.words(RESULTS, 7).tolist()) == (0, expected)


def test_thread_local_variables_are_refused(tmp_path):
    source = tmp_path / "local.c"
    source.write_text('#include "metronome.h"\n_Thread_local int x;\nint main(void) { return x; }\n')
    with pytest.raises(ToolchainError, match=r"local\.c:3: not supported: a thread-local variable"):
        build_elf([source], name="local")


def test_start_up_clears_bss_itself():
    """A raw image does not say which memory is BSS: what lies there before must not matter."""
    image = load_elf(build_elf([SERVICES], name="services"))
    first, end = (image.symbols[name][0] for name in ("__bss_start", "__bss_end"))
    assert first % 128 == end % 128 == 0 and end - first >= 4 * 77
    for config in (TINY, THREE_WARPS, PAPER):
        launch = Launch(
            name="services",
            image=replace(image, segments=tuple(segment for segment in image.segments if segment.data)),
            memory_map=config.memory_map,
            arguments=struct.pack("<2I", RESULTS, 1),
            buffers={"rubbish": (first, b"\xa5" * (end - first)), "behind": (end, b"\xa5" * 64)},
        )
        run = run_launch(launch, config)
        assert run.exit_code == 42
        assert run.word(RESULTS) == 0
        assert run.memory.read(end, 64) == b"\xa5" * 64
