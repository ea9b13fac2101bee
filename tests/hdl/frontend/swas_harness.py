"""A random world around the front end: memory, readiness, resolutions, termination and activation of warps."""

import random
from collections.abc import Mapping

from amaranth.hdl import Module

from metronome.hdl.config import SmConfig
from metronome.hdl.frontend.frontend import FrontEnd
from metronome.hdl.isa.ops import SystemOp, Unit
from tests.hdl.frontend.swas_reference import Inputs, Outputs, SwasReference, is_control, memory_line, word_at
from tests.hdl.lib.simulate import maybe

__all__ = ["OpenFrontEnd", "World", "mask_of"]

START = 0x8000_0000


class OpenFrontEnd(FrontEnd):
    """The front end with two things in sight that no port shows: each warp's fetch pc, and who waits for a line."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        self.pc = m.submodules.warps.pc
        self.suspended = m.submodules.fetch.lookup.suspended
        return m


def mask_of(warps: set[int]) -> int:
    return sum(1 << w for w in warps)


class World:
    """Drives the front end for a cycle with :meth:`step` and compares all that it shows with the reference.

    ``rates``: probabilities by name: ready, answer, accept, redirect, release, end, start, invalidate, halt.
    """

    def __init__(self, dut: OpenFrontEnd, config: SmConfig, rng: random.Random, rates: Mapping[str, float],
                 what: str) -> None:
        self.dut, self.config, self.rng, self.rates, self.name = dut, config, rng, rates, what
        self.reference = SwasReference(config)
        self.active: set[int] = set()
        self.policy = 0
        self.outstanding: dict[int, tuple[int, int]] = {}   # tag: line, cycle of the request
        self.arrived: int | None = None                     # tag of the last cycle's answer
        self.stale: set[int] = set()
        self.resolutions: dict[int, tuple[int, str]] = {}   # cycle: warp, what happens
        self.held: set[int] = set()                         # unresolved warps that wait to be released
        self.expected_pc: dict[int, int] = {}               # the program order of each warp
        self.last: Outputs | None = None
        self.issued = 0

    @property
    def what(self) -> str:
        return f"{self.name}, cycle {self.reference.cycle}"

    def chance(self, name: str) -> bool:
        return maybe(self.rng, self.rates[name])

    def address(self) -> int:
        word = self.rng.choice((self.rng.randrange(16), self.rng.randrange(9, 13)))
        return START + 64 * self.rng.randrange(12) + 4 * word

    def inputs(self) -> Inputs:
        rng, warps = self.rng, range(self.config.warps)
        if self.chance("policy"):
            self.policy = rng.randrange(len(self.config.policies))
        inputs = Inputs(
            active=self.active, ready={w for w in warps if self.chance("ready")},
            policy=self.config.policies[self.policy], halt=self.chance("halt"), invalidate=self.chance("invalidate"),
            target=self.address(), start=self.address(),
        )
        if self.reference.cycle in self.resolutions:
            inputs.resolving, kind = self.resolutions.pop(self.reference.cycle)
            inputs.redirect = kind != "not taken"
            if kind == "end":
                self.active = self.active - {inputs.resolving}
                inputs.active = self.active
        inputs.release = {w for w in self.held if self.chance("release")}
        self.held -= inputs.release
        resolving = {w for w, _ in self.resolutions.values()}
        if self.chance("start"):
            idle = set(warps) - self.active - resolving
            inputs.activated = {w for w in idle if maybe(rng, 0.7)}
        if self.arrived is not None:
            inputs.answer = self.outstanding.pop(self.arrived)[0]
            inputs.answered = None if self.config.icache_bytes else self.arrived
            inputs.stale = self.arrived in self.stale
            self.stale.discard(self.arrived)
        return inputs

    def drive(self, ctx, inputs: Inputs) -> None:
        dut = self.dut
        ctx.set(dut.flow.active, mask_of(inputs.active))
        ctx.set(dut.selection.ready, mask_of(inputs.ready))
        ctx.set(dut.halt, inputs.halt)
        ctx.set(dut.flow.resolution, {"valid": inputs.resolving is not None, "warp": inputs.resolving or 0,
                                 "redirect": inputs.redirect, "target": inputs.target})
        ctx.set(dut.flow.release, mask_of(inputs.release))
        ctx.set(dut.flow.activation, {"warps": mask_of(inputs.activated), "pc": inputs.start})
        ctx.set(dut.flow.invalidate, inputs.invalidate)
        if len(self.config.policies) > 1:
            ctx.set(dut.policy, self.policy)
        ctx.set(dut.mem.request.ready, self.chance("accept"))

    def answer(self, ctx, outputs: Outputs) -> None:
        """Memory's answer of this cycle, which the front end takes up in the next.

        Often that is the very cycle in which the fetch selected now misses the same line.
        """
        rng = self.rng
        fetched = None if outputs.select is None else self.reference.pc[outputs.select] // 64
        meeting = [tag for tag, (line, _) in self.outstanding.items() if line == fetched]
        self.arrived = None
        if self.outstanding and (self.chance("answer") or (meeting and maybe(rng, 0.8))):
            self.arrived = rng.choice(meeting or sorted(self.outstanding))
        response = self.dut.mem.response
        ctx.set(response.valid, self.arrived is not None)
        if self.arrived is not None:
            line = memory_line(self.outstanding[self.arrived][0])
            ctx.set(response.payload, {"tag": self.arrived, "error": line.error, "data": line.data})

    def check(self, ctx, outputs: Outputs) -> None:
        dut, reference = self.dut, self.reference
        assert not ctx.get(dut.event.empty_pop), f"{self.what}: the buffer of the selected warp was empty"
        assert not ctx.get(dut.event.miscounted), f"{self.what}: buffer + in flight is not d"
        assert ctx.get(dut.suspended) == mask_of(set(reference.suspended)), f"{self.what}: suspended"
        self._expect(ctx, "unresolved", mask_of(reference.unresolved))
        for w in range(self.config.warps):
            assert ctx.get(dut.pc[w]) == reference.pc[w], f"{self.what}: pc of warp {w}"
        self._expect(ctx, "head_nop", mask_of({w for w, buffer in reference.buffer.items() if buffer[0] is None}))
        self._expect(ctx, "eligible", mask_of(outputs.eligible))
        self._expect(ctx, "select", 0 if outputs.select is None else 1 << outputs.select)
        self._expect(ctx, "select_valid", outputs.select is not None)
        if outputs.select is not None:
            self._expect(ctx, "select_warp", outputs.select)
            self._expect(ctx, "select_nop", outputs.popped is None)
        self._expect(ctx, "miss", outputs.miss is not None)
        if outputs.miss is not None:
            self._expect(ctx, "miss_warp", outputs.miss)
        self._expect(ctx, "refill", outputs.refill is not None)

    def _expect(self, ctx, name: str, expected: int) -> None:
        value = ctx.get(self.dut.event[name])
        assert value == expected, f"{self.what}: {name} is {value:#b}, not {int(expected):#b}"

    def check_entry(self, ctx, outputs: Outputs) -> None:
        """The instruction popped in the last cycle is the next one of its warp's program."""
        entry = self.dut.selection.entry
        pc = ctx.get(entry.pc)
        assert pc == self.expected_pc[outputs.select], (
            f"{self.what}: warp {outputs.select} issued {pc:#x}, not {self.expected_pc[outputs.select]:#x}")
        assert pc == outputs.popped, f"{self.what}: warp {outputs.select} issued {pc:#x}, not {outputs.popped:#x}"
        self.expected_pc[outputs.select] = pc + 4
        info = ctx.get(entry.decoded.info)
        assert info.as_bits() == self.info, f"{self.what}: select_info is not that of the entry"
        assert info.control == is_control(pc), f"{self.what}: control flag at {pc:#x}"
        if memory_line(pc // 64).error:
            assert (info.unit, ctx.get(entry.decoded.op)) == (Unit.SYSTEM, SystemOp.FETCH_FAULT.value), self.what
        else:
            assert ctx.get(entry.instruction) == word_at(pc), f"{self.what}: word at {pc:#x}"
        self.issued += 1

    async def step(self, ctx) -> None:
        inputs = self.inputs()
        self.drive(ctx, inputs)
        outputs = self.reference.outputs(inputs)
        self.answer(ctx, outputs)
        self.check(ctx, outputs)
        if self.last is not None and self.last.popped is not None:
            self.check_entry(ctx, self.last)
        # The redirect of a warp follows all that it has issued: its last entry was checked above.
        if inputs.redirected is not None:
            self.expected_pc[inputs.redirected] = inputs.target
        self.expected_pc.update(dict.fromkeys(inputs.activated, inputs.start))
        self.info = ctx.get(self.dut.selection.info).as_bits()
        self._memory(ctx, inputs)
        self._plan(outputs)
        self.reference.advance(inputs, outputs)
        self.last = outputs
        self.active = self.active | inputs.activated
        await ctx.tick()

    def _memory(self, ctx, inputs: Inputs) -> None:
        request = self.dut.mem.request
        if inputs.invalidate:
            self.stale |= set(self.outstanding)
        if ctx.get(request.valid) and ctx.get(request.ready):
            line, tag = ctx.get(request.payload.line), ctx.get(request.payload.tag)
            assert tag not in self.outstanding, f"{self.what}: tag {tag} is used twice"
            lines = [other for other, _ in self.outstanding.values()]
            # Without a cache each warp asks for itself, and its number is the tag.
            whose = () if self.config.icache_bytes else (tag,)
            assert whose or line not in lines, f"{self.what}: line {line:#x} is requested twice"
            self.reference.seen["line requested by two"] += line in lines
            assert not self.reference.cache.holds(line, *whose), f"{self.what}: line {line:#x} is there already"
            self.outstanding[tag] = line, self.reference.cycle

    def _plan(self, outputs: Outputs) -> None:
        """When and how the control instruction that was selected in this cycle resolves."""
        if outputs.popped is None or not is_control(outputs.popped):
            return
        if self.chance("hold"):
            self.held.add(outputs.select)
            return
        cycle = self.reference.cycle + self.rng.choice((1, 1, 2, 3, 3, 5))
        while cycle in self.resolutions:
            cycle += 1
        kind = "end" if self.chance("end") else "taken" if self.chance("redirect") else "not taken"
        self.resolutions[cycle] = outputs.select, kind

