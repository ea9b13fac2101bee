"""The AXI bridge under random traffic: every rule of both ports, every byte, every answer."""

import pytest

from metronome.hdl.bus.axi import AxiMaster
from metronome.hdl.presets import TINY
from tests.hdl.bus.axi_side import Chances, make, run
from tests.hdl.lib.simulate import drive, simulated
from tests.support.tiers import some_more

SEED = 20261123
#: Widths and places; few places so that requests wait for one.
SHAPES = [
    {"data_bits": 64}, {"data_bits": 32, "reads": 2, "writes": 4}, {"data_bits": 512},
    {"data_bits": 128, "reads": 1, "writes": 1},
    {"data_bits": 256, "reads": 4, "writes": 2}, {"data_bits": 8, "reads": 8, "writes": 1},
]
#: The usual mixture; a slave at full speed; one that is slow on each channel; a slow SM; no errors, and many.
SITUATIONS = {
    "usual": Chances(), "fast": Chances(ask=1, take=1, aw=1, w=1, ar=1, b=1, r=1), "in order": Chances(mixed=False),
    "slow aw": Chances(aw=0.05), "slow w": Chances(w=0.1), "slow b": Chances(b=0.02, take=1), "slow r": Chances(r=0.1),
    "slow SM": Chances(take=0.1, b=0.9, r=1), "errors": Chances(error=0.6), "reads": Chances(write=0),
    "writes": Chances(write=1), "both": Chances(both=True),
}


def shape_name(shape):
    return "-".join(map(str, shape.values()))


@pytest.mark.slow
@pytest.mark.parametrize("situation", some_more(SITUATIONS, 1))
def test_random_traffic(situation):
    """Each situation on one of the widths in turn; the long test has all pairs, and 200 runs."""
    place = list(SITUATIONS).index(situation)
    outcome = run(make(tag_bits=5, **SHAPES[place % len(SHAPES)]), SEED + place, chances=SITUATIONS[situation])
    assert not outcome.wrong
    assert outcome.answered > 5


@pytest.mark.more
def test_beats_are_mixed_and_accesses_fail():
    """What the random tests are for does happen in them."""
    outcome = run(make(tag_bits=5), SEED, chances=Chances(write=0.3, error=0.2), cycles=300)
    assert not outcome.wrong
    assert outcome.mixed_beats > 20
    assert outcome.errors > 2


@pytest.mark.long
@pytest.mark.parametrize("number", range(200))
def test_more_random_traffic(number):
    shape = SHAPES[number % len(SHAPES)]
    situation = list(SITUATIONS.values())[number // len(SHAPES) % len(SITUATIONS)]
    outcome = run(make(tag_bits=6, **shape), SEED + 1000 + number, cycles=600, chances=situation, lines=24)
    assert not outcome.wrong
    assert outcome.left == 0


@pytest.mark.parametrize(("option", "value", "allowed"), [
    ("data_bits", 4, "8 and 512"), ("data_bits", 1024, "8 and 512"), ("data_bits", 96, "8 and 512"),
    ("reads", 0, "1 and 64"), ("writes", 128, "1 and 64"), ("reads", 3, "1 and 64"), ("data_bits", 64.0, "8 and 512"),
])
def test_what_cannot_be_built_is_refused(option, value, allowed):
    with pytest.raises(ValueError, match=f"^{option} must be a power of two between {allowed}, not {value!r}$"):
        AxiMaster(TINY, **{option: value})


@simulated(lambda: make(tag_bits=5))
async def test_cycles(ctx, bridge):
    """A request is on the bus in the next cycle; an answer at the port in the cycle after B, or the last beat."""
    axi, port = bridge.axi, bridge.port
    seen = []
    for ready in (axi.awready, axi.wready, axi.arready, port.response.ready):
        ctx.set(ready, 1)
    for cycle in range(24):
        ctx.set(port.request.valid, cycle in (0, 1, 2))
        ctx.set(port.request.payload, {"line": 5 + cycle, "tag": cycle, "write": cycle == 0})
        drive(ctx, axi, bvalid=cycle == 12, rvalid=cycle >= 3 and cycle < 19, rid=int(cycle >= 11))
        names = [name for name in ("awvalid", "wlast", "arvalid") if ctx.get(getattr(axi, name) & axi.wvalid | (
            getattr(axi, name) if name != "wlast" else 0))]
        if ctx.get(port.response.valid):
            names.append(f"answer {ctx.get(port.response.payload.tag)}")
        seen.append(names)
        await ctx.tick()
    happened = {cycle: names for cycle, names in enumerate(seen) if names}
    assert happened == {
        1: ["awvalid"], 2: ["arvalid"], 3: ["arvalid"], 8: ["wlast"], 11: ["answer 1"], 13: ["answer 0"],
        19: ["answer 2"],
    }
