"""The image of a program: what $readmemh and the examples read is what our own simulation loads."""

import dataclasses
import random
import re

import pytest

from metronome.hdl.presets import MID
from metronome.sim.machine.memory.stacks import interleave
from metronome.sim.machine.memory.store import SparseMemory
from metronome.sim.program.image import image_text, read_words
from metronome.sim.program.kernels import prepare
from tests.support.builds import TINY
from tests.support.programs import memory_of


def contents(memory):
    """Page -> bytes, of what is not 0 throughout and lies in memory."""
    found = {}
    for page in memory.pages():
        first, end = max(page, memory.memory_map.first), min(page + 65536, memory.memory_map.end)
        if any(data := memory.read(first, end - first)):
            found[page] = data
    return found


def read_back(text, config):
    memory = SparseMemory(config.memory_map)
    for address, word in read_words(text):
        memory.write(address, word.to_bytes(4, "little"))
    return memory


@pytest.mark.parametrize("config", [TINY, MID], ids=["TINY", "MID"])
@pytest.mark.parametrize("kernel", ["vecadd", "psum"])
def test_an_image_has_all_that_is_loaded(kernel, config):
    launch = prepare(kernel, config=config)
    text = image_text(launch, config)
    own = contents(memory_of(launch, config))
    assert own and contents(read_back(text, config)) == own
    facts = dict(line.split(" ", 2)[1:] for line in text.splitlines()[1:] if line.startswith("// "))
    assert (facts["entry"], facts["argument"]) == ("0x80000000", "0x00010000")
    assert (facts["memory"], facts["exit_code"]) == ("0x00000040 0xffff0000", "0x00000088")
    assert set(re.findall(r"^// buffer (\w+) ", text, re.MULTILINE)) == set(launch.buffers)


def test_random_bytes_anywhere_and_stacks_as_the_port_sees_them():
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    places = TINY.memory_map
    edges = [places.first, places.end - 64, places.stack_top - 8192]
    addresses = [*edges, *(rng.randrange(0x2_0000, 1 << 31) for _ in range(4))]
    launch = prepare("vecadd", config=TINY)
    loads = {f"a b{place}": (address, rng.randbytes(rng.randrange(1, 64))) for place, address in enumerate(addresses)}
    launch = dataclasses.replace(launch, loads=loads)
    expected = memory_of(launch, TINY)
    program = contents(expected)
    interleave(TINY, expected)
    assert contents(expected) != program, "nothing is in the stacks"
    text = image_text(launch, TINY)
    assert contents(read_back(text, TINY)) == contents(expected), seed
    assert f"// buffer a_b0 {places.first:#010x} " in text
    for line in text.splitlines():
        assert re.fullmatch(r"//.*|@[0-9a-f]{8}|[0-9a-f]{8}( [0-9a-f]{8})*", line)
