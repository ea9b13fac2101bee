"""Readiness, register values and unit latencies in plain Python, for the tests of the issue side."""

import random
from typing import Any

from metronome.hdl.config import SmConfig
from metronome.hdl.isa.ops import Unit
from metronome.hdl.layouts.counters import StallReason
from tests.hdl.lib.simulate import drive, maybe

__all__ = ["FLOATS", "NUMBERS", "Registers", "lanes", "latencies", "random_head", "reasons", "takes_slot"]

#: Few, so that hazards are frequent: the ends of both register files among them.
NUMBERS = (1, 2, 31, 32, 33, 63)
#: The units that raise flags.
FLOATS = (Unit.FMA, Unit.FCVT, Unit.FDIV, Unit.FMISC)


def random_head(rng: random.Random) -> dict:
    """Registers that are not used have any number: it must not count."""
    head = {name: rng.choice((0, *NUMBERS)) for name in ("rd", "rs1", "rs2", "rs3")}
    head |= {name: maybe(rng, 0.4) for name in ("use_rs1", "use_rs2", "use_rs3", "writes_rd")}
    return head | {"unit": rng.choice(list(Unit)), "drain": maybe(rng, 0.1), "fence": maybe(rng, 0.1)}


def uses(head: dict) -> set[int]:
    pairs = (("rs1", "use_rs1"), ("rs2", "use_rs2"), ("rs3", "use_rs3"), ("rd", "writes_rd"))
    return {head[register] for register, flag in pairs if head[flag]}


def takes_slot(head: dict) -> bool:
    """Flags are raised where a result is written, so a comparison into x0 needs a slot like any other."""
    return bool(head["writes_rd"]) or head["unit"] in FLOATS


def reasons(head: dict, pending: dict[int, bool], *, unit_free: int, slot_free: int, stores: bool,
            flags: int = 0) -> set[StallReason]:
    """All that keeps a head from being ready.

    ``pending``: register -> whether it waits for a load; ``flags``: instructions of the warp under way that only raise
    flags.
    """
    hazards = {pending[register] for register in uses(head) if register in pending}
    found = {StallReason.LOAD if True in hazards else StallReason.DATA} if hazards else set()
    if (head["drain"] and (pending or flags)) or (head["fence"] and stores):
        found.add(StallReason.DRAIN)
    if not unit_free >> head["unit"].value & 1:
        found.add(StallReason.UNIT)
    if takes_slot(head) and not slot_free >> head["unit"].value & 1:
        found.add(StallReason.WRITEBACK)
    return found


class Registers:
    """Values by warp, register and lane; 0 at first."""

    def __init__(self, config: SmConfig, rng: random.Random) -> None:
        self.config, self.rng = config, rng
        self.values: dict[tuple[int, int], list[int]] = {}

    def read(self, warp: int, register: int, used: bool) -> list[int]:
        return list(self.values.get((warp, register), [0] * self.config.threads)) if used else [0] * self.config.threads

    def random_write(self) -> dict | None:
        rng, config = self.rng, self.config
        if maybe(rng, 0.3):
            return None
        return {"warp": rng.randrange(config.warps), "rd": rng.choice(NUMBERS), "last": 1,
                "mask": rng.choice((-1 % (1 << config.threads), rng.getrandbits(config.threads))),
                "data": [rng.getrandbits(32) for _ in range(config.threads)]}

    def write(self, write: dict | None) -> None:
        if write is not None:
            lanes = self.read(write["warp"], write["rd"], True)
            for i in range(self.config.threads):
                if write["mask"] >> i & 1:
                    lanes[i] = write["data"][i]
            self.values[write["warp"], write["rd"]] = lanes

    def random_sources(self) -> dict:
        """Unused sources have any number."""
        return {name: value for n in (1, 2, 3) for name, value in (
            (f"rs{n}", self.rng.choice(NUMBERS)), (f"use_rs{n}", maybe(self.rng, 0.8)))}

    def drive_write(self, ctx: Any, dut: Any, write: dict | None) -> None:
        drive(ctx, dut.write, valid=write is not None, value=write or self.random_write() or {})


def lanes(ctx: Any, array: Any, threads: int) -> list[int]:
    return [ctx.get(array[i]) for i in range(threads)]


def latencies(config: SmConfig) -> dict[Unit, int]:
    """Design.md section 4: alu and branch, csr and simt 1 unless configured; mul and div as configured."""
    return {Unit.ALU: 1, Unit.BRANCH: 1, Unit.CSR: 1, Unit.SIMT: 1, Unit.MUL: config.latency_mul,
            Unit.DIV: config.latency_div, Unit.FMA: config.latency_fma, Unit.FCVT: config.latency_fcvt,
            Unit.FDIV: config.latency_fdiv, Unit.FMISC: config.latency_fmisc}
