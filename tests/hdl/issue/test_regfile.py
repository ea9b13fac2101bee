"""The register file, and the operand stage around it, against a dictionary."""

import random
from dataclasses import replace

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.issue.operands import OperandStage
from metronome.hdl.issue.regfile import RegisterFile
from metronome.hdl.layouts.decoded import BufferEntry
from metronome.hdl.presets import BASE
from tests.hdl.issue.issue_reference import Registers, lanes
from tests.hdl.lib.simulate import drive, maybe, simulated
from tests.support.tiers import some_more, some_slow

CONFIGS = [BASE, replace(BASE, warps=1, threads=1), replace(BASE, warps=3, threads=8)]
SOURCES = ("rs1", "rs2", "rs3")


def label(config: SmConfig) -> str:
    return f"{config.warps}x{config.threads}_x_{config.issue_latency}"


def same(write: dict | None, warp: int, register: int) -> bool:
    return write is not None and (write["warp"], write["rd"]) == (warp, register)


@pytest.mark.parametrize("config", some_slow(CONFIGS[1:] + CONFIGS[:1], 1), ids=label)
@simulated(lambda config: RegisterFile(config))
async def test_register_file(ctx, dut, config):
    seed = config.warps + config.threads
    rng = random.Random(seed)
    model = Registers(config, rng)
    expected: dict[str, list[int]] = {"rs3": [0] * config.threads}
    for cycle in range(500):
        warp, sources, write = rng.randrange(config.warps), model.random_sources(), model.random_write()
        drive(ctx, dut, warp=warp, decoded={"info": sources})
        model.drive_write(ctx, dut, write)
        # The third source stays what it was where it is not used.
        expected.update((name, model.read(warp, sources[name], sources[f"use_{name}"])) for name in SOURCES
                        if name != "rs3" or sources["use_rs3"])
        await ctx.tick()
        for name, values in expected.items():
            # A write in the read's own cycle is not seen by contract one way or the other.
            read = lanes(ctx, getattr(dut, name), config.threads)
            if sources[f"use_{name}"] and same(write, warp, sources[name]):
                expected[name] = read
                continue
            assert read == values, f"seed {seed}, cycle {cycle}: warp {warp} {name} {sources}"
        model.write(write)


@pytest.mark.slow
@pytest.mark.parametrize("config", [*some_more(CONFIGS, 1), replace(CONFIGS[2], issue_latency=3)], ids=label)
@simulated(lambda config: OperandStage(config))
async def test_operand_stage(ctx, dut, config):
    """Selected in t, entry in t+1, operands in X with the mask that the warp has in t+1."""
    seed = 100 + config.warps + config.threads
    rng = random.Random(seed)
    model = Registers(config, rng)
    selected: dict[int, int | None] = {}
    expected: dict[int, dict | None] = {}
    forwarded = 0

    def read(cycle: int, entry: dict, masks: list[int]) -> dict | None:
        warp = selected.get(cycle - 1)
        if warp is None:
            return None
        sources = entry["decoded"]["info"]
        return {"warp": warp, "mask": masks[warp], "entry": BufferEntry.const(entry).as_bits(), "sources": sources,
                **{name: model.read(warp, sources[name], sources[f"use_{name}"]) for name in SOURCES}}

    def check(ctx, cycle: int) -> None:
        what, x, wanted = f"seed {seed}, cycle {cycle}", dut.operands, expected.get(cycle)
        assert ctx.get(x.valid) == (wanted is not None), what
        inside = [selected.get(cycle - ago) for ago in range(1, config.issue_latency + 1)]
        assert ctx.get(dut.busy) == any(warp is not None for warp in inside), what
        for port, warp in ((dut.reading_warp, inside[0]), (dut.next_warp, inside[-2])):
            assert warp in (None, ctx.get(port)), what
        if wanted is None:
            return
        got = {"warp": ctx.get(x.warp), "mask": ctx.get(x.mask), "entry": ctx.get(x.entry).as_bits(),
               "sources": wanted["sources"], **{name: lanes(ctx, x[name], config.threads) for name in SOURCES}}
        if not wanted["sources"]["use_rs3"]:
            got["rs3"] = wanted["rs3"]
        assert got == wanted, what
    for cycle in range(500):
        selected[cycle] = rng.randrange(config.warps) if maybe(rng, 0.7) else None
        drive(ctx, dut, selected=selected[cycle] is not None, selected_warp=selected[cycle] or 0)
        masks = [rng.getrandbits(config.threads) for _ in range(config.warps)]
        ctx.set(dut.masks, masks)
        entry = {"decoded": {"info": model.random_sources(), "imm": rng.getrandbits(32)}, "pc": rng.getrandbits(32)}
        ctx.set(dut.entry, entry)
        write = model.random_write()
        info = entry["decoded"]["info"]
        reads = any(same(write, selected.get(cycle - 1), info[name]) and info[f"use_{name}"] for name in SOURCES)
        # Without a register for the operands, the scoreboard lets none be written in the cycle in which it is read.
        write = None if reads and not config.operand_register else write
        forwarded += reads
        model.drive_write(ctx, dut, write)
        check(ctx, cycle)
        model.write(write)
        expected[cycle + config.issue_latency - 1] = read(cycle, entry, masks)
        await ctx.tick()
    assert forwarded > 5, f"seed {seed}: only {forwarded} writes in the cycle of a read"
