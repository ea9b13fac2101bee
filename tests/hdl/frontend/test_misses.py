"""The miss unit against a reference that knows, per warp, only the line it is suspended for."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from metronome.hdl.config import SmConfig
from metronome.hdl.frontend.misses import MissUnit
from metronome.hdl.presets import BASE
from tests.hdl.frontend.miss_reference import RegisterModel
from tests.hdl.lib.simulate import drive, maybe, simulate
from tests.support.tiers import more_but, some_long, some_slow

CONFIGS = [
    replace(BASE, warps=4, icache_mshrs=4), replace(BASE, warps=8, icache_mshrs=2),
    replace(BASE, warps=6, icache_mshrs=1), replace(BASE, warps=16, icache_mshrs=3),
]
#: Without an I-cache: a register a warp, and nothing is shared.
OWN = [replace(BASE, warps=warps, icache_bytes=0) for warps in (1, 4, 7)]


def label(config: SmConfig) -> str:
    return f"{config.warps}_warps_{config.icache_mshrs if config.icache_bytes else 'own'}_registers"


class MissModel:
    """One cycle at a time: drives the unit and memory's side, and checks who is suspended and what is asked for."""

    def __init__(self, dut: MissUnit, config: SmConfig, rng: random.Random, what: str) -> None:
        self.dut, self.config, self.rng, self.what = dut, config, rng, what
        self.cycle = 0
        self.waits: dict[int, int] = {}            # warp -> the line it is suspended for
        self.outstanding: dict[int, list] = {}     # tag -> [line, made before an invalidation]
        self.arrived: tuple[int, dict] | None = None   # tag and payload of the last cycle's answer
        self.missed: set[tuple] = set()            # lines that were missed and not answered since, by :meth:`key`
        self.offered: tuple[int, int] | None = None
        self.accepted: list[tuple[int, int]] = []  # (cycle, line)
        self.seen: Counter[str] = Counter()
        self.registers = RegisterModel(config)

    def key(self, warp: int, line: int) -> tuple:
        """A miss, as far as misses are told apart: by line, and without an I-cache by warp, whose number is the tag."""
        return (line,) if self.config.icache_bytes else (line, warp)

    @property
    def unanswered(self) -> list[int]:
        """The tags that memory may answer."""
        return [tag for tag in self.outstanding if self.arrived is None or tag != self.arrived[0]]

    async def step(self, ctx, *, miss: tuple[int, int] | None = None, release: tuple[int, ...] = (),
                   invalidate: bool = False, ready: bool = True, answer: int | None = None) -> None:
        """``answer``: the tag that memory answers in this cycle; it takes effect in the next."""
        dut, rng = self.dut, self.rng
        what = f"{self.what}, cycle {self.cycle}"
        # Without a miss: a hit, or no lookup at all.
        hits = maybe(rng, 0.5)
        ctx.set(dut.lookup, 1 << miss[0] if miss else 1 << rng.randrange(self.config.warps) if hits else 0)
        ctx.set(dut.lookup_missed, 1 if miss else 0 if hits else rng.getrandbits(1))
        ctx.set(dut.lookup_line, miss[1] if miss else rng.getrandbits(3))
        ctx.set(dut.release, sum(1 << w for w in release))
        ctx.set(dut.invalidate, invalidate)
        for w in range(self.config.warps):
            ctx.set(dut.pending_line[w], self.waits.get(w, rng.getrandbits(3)))
        ctx.set(dut.mem.request.ready, ready)
        response = dut.mem.response
        payload = {"tag": answer or 0, "error": rng.getrandbits(1), "data": rng.getrandbits(512)}
        taken_up, self.arrived = self.arrived, None if answer is None else (answer, payload)
        drive(ctx, response, valid=answer is not None, payload=payload)

        suspended = {w for w in range(self.config.warps) if ctx.get(dut.suspended) >> w & 1}
        assert suspended == set(self.waits), f"{what}: suspended {suspended}, expected {self.waits}"
        answered = self._check_refill(ctx, what, taken_up, invalidate)
        self._check_request(ctx, what, ready, miss)
        if invalidate:
            for request in self.outstanding.values():
                request[1] = request[1] or request[2] < self.cycle
        granted = self.registers.granted()
        self.seen["squashed as it asks"] += granted is not None and granted[1] and self.registers.asks[0] in release
        self.registers.tick(miss=miss, release=release, ready=ready, answered=None if not taken_up else taken_up[0])
        self._follow(miss, release, answered)
        await ctx.tick()
        self.cycle += 1

    def _check_refill(self, ctx, what: str, arrived: tuple[int, dict] | None, invalidate: bool) -> tuple | None:
        """The misses that the answer is to."""
        dut = self.dut
        assert ctx.get(dut.mem.response.ready) == 1, f"{what}: an answer is not accepted"
        if arrived is None:
            assert ctx.get(dut.refill.valid) == 0, f"{what}: a refill without an answer"
            return None
        answer, payload = arrived
        line, stale, _ = self.outstanding.pop(answer)
        self.missed.discard(self.key(answer, line))
        stored = not stale and not invalidate
        assert ctx.get(dut.refill.valid) == stored, f"{what}: the answer for {line} is {'not ' * (not stored)}stored"
        self.seen["stale answer"] += not stored
        if stored:
            got = ctx.get(dut.refill.line), ctx.get(dut.refill.data), ctx.get(dut.refill.error)
            assert got == (line, payload["data"], payload["error"]), f"{what}: refill of {line}"
            if not self.config.icache_bytes:
                assert ctx.get(dut.refill.warp) == answer, f"{what}: the refill goes to another warp than {answer}"
        return self.key(answer, line)

    def _check_request(self, ctx, what: str, ready: bool, miss: tuple[int, int] | None) -> None:
        request = self.dut.mem.request
        offer = None
        if ctx.get(request.valid):
            offer = ctx.get(request.payload.line), ctx.get(request.payload.tag)
            assert ctx.get(request.payload.write) == 0, f"{what}: a fetch writes"
        if self.offered is not None:
            assert offer == self.offered, f"{what}: {self.offered} was offered and became {offer}"
        assert offer == self.registers.offer(), f"{what}: {offer} is offered instead of {self.registers.offer()}"
        self.offered = None if ready else offer
        if offer is None or not ready:
            return
        line, tag = offer
        assert tag not in self.outstanding, f"{what}: tag {tag} is used twice"
        assert self.key(tag, line) in self.missed, f"{what}: line {line} is requested, but no warp missed it"
        twice = line in [other for other, _, _ in self.outstanding.values()]
        assert not (twice and self.config.icache_bytes), f"{what}: line {line} asked for twice"
        self.seen["asked for by two"] += twice
        self.outstanding[tag] = [line, False, self.cycle]
        self.accepted.append((self.cycle, line))

    def _follow(self, miss: tuple[int, int] | None, release: tuple[int, ...], answered: tuple | None) -> None:
        for w in release:
            self.seen["squashed"] += w in self.waits
            self.waits.pop(w, None)
        if miss is not None:
            self.seen["shared"] += self.key(*miss) in self.missed
            self.seen["miss in the refill's cycle"] += self.key(*miss) == answered
            self.seen["own register busy"] += any(
                its[1] == miss[0] and its[0] != miss[1] for its in self.missed if len(its) > 1)
            if self.key(*miss) != answered:
                self.missed.add(self.key(*miss))
            self.waits[miss[0]] = miss[1]
        woken = [w for w, line in self.waits.items() if self.key(w, line) == answered]
        for w in woken:
            del self.waits[w]
        self.seen["woken together"] += len(woken) > 1
        self.seen["all registers taken"] += len(set(self.waits.values())) > self.config.fetch_requests


def play_random(config: SmConfig, seed: int, *, dense: bool, cycles: int) -> MissModel:
    """Misses as a front end makes them: only of warps that are not suspended, never of one squashed in that cycle."""
    rng = random.Random(seed)
    dut = MissUnit(config)
    model = MissModel(dut, config, rng, f"seed {seed}")

    async def testbench(ctx):
        for cycle in range(cycles + 200):
            answer = None
            waited_for = model.unanswered
            if waited_for and maybe(rng, 0.5 if dense else 0.15):
                answer = rng.choice(waited_for)
            release = {w for w in range(config.warps) if maybe(rng, 0.02 if config.icache_bytes else 0.08)}
            if model.registers.asks is not None and maybe(rng, 0.05):
                release.add(model.registers.asks[0])
            candidates = [w for w in range(config.warps) if w not in model.waits and w not in release]
            miss = None
            if candidates and cycle < cycles and maybe(rng, 0.9 if dense else 0.3):
                line = rng.randrange(6)
                if model.arrived is not None and maybe(rng, 0.3):
                    line = model.outstanding[model.arrived[0]][0]
                    if not config.icache_bytes and model.arrived[0] in candidates:
                        candidates = [model.arrived[0]]
                miss = rng.choice(candidates), line
            if cycle >= cycles and not model.waits and not model.outstanding:
                break
            await model.step(ctx, miss=miss, release=tuple(release), invalidate=maybe(rng, 0.02),
                             ready=maybe(rng, 0.7), answer=answer)
        assert not model.waits, f"seed {seed}: warps still suspended after the last answer: {model.waits}"

    simulate(dut, testbench)
    return model


@pytest.mark.parametrize("config", some_slow([CONFIGS[2], OWN[1]], 1), ids=label)
def test_random_briefly(config):
    """A fifth of a second of :func:`test_random`."""
    play_random(config, 3, dense=True, cycles=100)


@pytest.mark.slow
@pytest.mark.parametrize("config", more_but([*CONFIGS, *OWN], CONFIGS[:1]), ids=label)
@pytest.mark.parametrize("pace", some_long(["dense", "sparse"], 1))
def test_random(config, pace):
    seed = 10 * config.warps + config.icache_mshrs + (pace == "dense")
    model = play_random(config, seed, dense=pace == "dense", cycles=1300)
    wanted = ["squashed", "squashed as it asks", "shared", "miss in the refill's cycle", "stale answer",
              "woken together"]
    if not config.icache_bytes:
        wanted = ["squashed", "squashed as it asks", "shared", "stale answer", "own register busy",
                  "miss in the refill's cycle", *(["asked for by two"] if config.warps > 1 else [])]
    elif config.icache_mshrs < 4:
        wanted.append("all registers taken")
    for event in wanted:
        assert model.seen[event] >= 3, f"seed {seed}: {event} happened {model.seen[event]} times: {model.seen}"


def directed(config: SmConfig, steps: list[dict]) -> MissModel:
    dut = MissUnit(config)
    model = MissModel(dut, config, random.Random(0), "directed")

    async def testbench(ctx):
        for step in steps:
            await model.step(ctx, **step)

    simulate(dut, testbench)
    return model


def test_request_follows_its_miss_by_two_cycles():
    model = directed(CONFIGS[0], [{}, {"miss": (1, 7)}, {}, {}])
    assert model.accepted == [(3, 7)]


def test_misses_to_one_line_share_a_request():
    steps = [{"miss": (0, 7)}, {"miss": (1, 7)}, {"miss": (2, 7)}, {}, {"answer": 0}, {"miss": (3, 7)}, {}]
    model = directed(CONFIGS[0], steps)
    assert model.accepted == [(2, 7)]
    assert not model.waits


def test_a_warp_waits_for_a_register():
    """One register: the second line is asked for when the first one's register is free again."""
    steps = [{"miss": (0, 1)}, {"miss": (1, 2)}, {}, {"answer": 0}, {}, {}, {}, {"answer": 0}, {}, {}]
    model = directed(CONFIGS[2], steps)
    assert [line for _, line in model.accepted] == [1, 2]
    assert model.accepted[1][0] == 6, "answered in 3, free in 5, taken in 5, asked in 6"
    assert not model.waits


@pytest.mark.parametrize(("release", "asked"), [(3, False), (4, False), (5, True), (6, True)])
def test_a_warp_that_waits_and_is_redirected(release, asked):
    """Its last chance to ask is the cycle in which it is squashed: 5, the first with a free register."""
    steps = [{"miss": (0, 1)}, {"miss": (1, 2)}, {}, {"answer": 0}, {}, {}, {}, {}, {}]
    steps[release]["release"] = (1,)
    model = directed(CONFIGS[2], steps)
    assert model.accepted == [(2, 1), *([(6, 2)] if asked else [])]
    assert not model.waits


@pytest.mark.parametrize("release", [1, 2, 3])
def test_a_warp_that_has_missed_and_is_redirected(release):
    """It asks in the cycle behind its miss, and its line is requested in the next: whenever it is squashed."""
    steps = [{"miss": (1, 7)}, {}, {}, {}, {}]
    steps[release]["release"] = (1,)
    assert directed(CONFIGS[0], steps).accepted == [(2, 7)]


def test_a_warp_without_a_register_wakes_with_its_line():
    """Warps 0 and 1 hold both registers; 2 waits for line 9, which 3 then gets a register for.

    New misses go first, so warp 2 has had no turn when line 9 comes: it must wake all the same, and must not ask for
    a line that the store holds (a line held twice hits in two ways).
    """
    steps = [
        {"miss": (0, 1)}, {"miss": (1, 2)}, {"miss": (2, 9), "answer": 0},
        {"miss": (4, 1)}, {"miss": (3, 9)}, {"miss": (5, 2)}, {"miss": (7, 2), "answer": 0}, {"miss": (6, 9)},
        {}, {}, {}, {"answer": 1}, {}, {},
    ]
    model = directed(CONFIGS[1], steps)
    assert [line for _, line in model.accepted] == [1, 2, 9]
    assert not model.waits


def test_squash_ends_the_suspension_and_keeps_the_request():
    model = directed(CONFIGS[0], [{"miss": (2, 5)}, {"release": (2,), "ready": False}, {}, {"miss": (1, 5)}, {}])
    assert [line for _, line in model.accepted] == [5]
    assert model.waits == {1: 5}


def test_without_a_cache_each_warp_asks_for_itself():
    """One line for two warps is two requests; each answer wakes its own warp."""
    model = directed(OWN[1], [{"miss": (0, 7)}, {"miss": (2, 7)}, {}, {}, {"answer": 2}, {}, {}])
    assert model.accepted == [(2, 7), (3, 7)]
    assert model.waits == {0: 7}


def test_without_a_cache_no_warp_keeps_another_from_memory():
    """Memory takes a request in every fourth cycle; who is answered misses again at once, the lowest first."""
    config = OWN[1]
    dut = MissUnit(config)
    model = MissModel(dut, config, random.Random(0), "fair")
    order = []

    async def testbench(ctx):
        for cycle in range(400):
            free = [w for w in range(config.warps) if w not in model.waits]
            before = len(model.accepted)
            tags = set(model.outstanding)
            await model.step(ctx, miss=(free[0], 20 + cycle % 9) if free else None, ready=cycle % 4 == 0,
                             answer=model.unanswered[0] if model.unanswered else None)
            if len(model.accepted) > before:
                order.extend(set(model.outstanding) - tags)

    simulate(dut, testbench)
    assert len(order) >= 90
    for start in range(4, len(order) - config.warps):
        assert set(order[start : start + config.warps]) == set(range(config.warps)), order[start - 4 : start + 8]
