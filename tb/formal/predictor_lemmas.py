"""Invariants of P8: the memories of the predictors hold the reference's states, ahead and behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Cat, Const, Mux, Signal, Value
from amaranth.lib import data

from metronome.hdl.prediction_sizes import MOST_RUN, NEAR_BITS, RUN_WAYS, TAG_BITS

from .ideal import Word
from .privacy_world import PrivacyWorld

__all__ = ["PredictorLemmas"]

_COUNT_BITS = (MOST_RUN + 1).bit_length()
#: The present run of a branch, as in the memories of BranchRuns.
_RUN = data.StructLayout({"taken": 1, "count": _COUNT_BITS})


class PredictorLemmas:
    """Adds the invariants to a model.

    Four facts carry the proof. The side behind is the reference's state after the outcomes that have come. On the
    path, the side ahead is the reference's state after all decodes. What a pending outcome will change behind is marked
    as newer ahead, so that it changes nothing ahead. What was read a cycle early is what would be read now, unless it
    is not used: it is newer ahead, or nothing of the warp is in decode.

    A set of runs has three more, on which the hardware relies: different tags, a first entry before a second, no run
    of length 0.
    """

    def __init__(self, model: PrivacyWorld) -> None:
        self._model, self._spot = model, model.spot
        config = model.config
        if not (config.return_stack or config.jump_targets or config.two_bit or config.branch_runs):
            return  # nothing is learned
        self._words()
        self._queue()
        if config.return_stack:
            self._stack()
        if config.jump_targets:
            self._targets()
        if config.two_bit:
            self._counters()
        if config.branch_runs:
            self._runs()

    def _words(self) -> None:
        """The symbolic warp's words, with the share of each predictor."""
        model, inside = self._model, self._model.inside
        names = [name for name, size in (
            ("stack", model.config.return_stack), ("targets", model.config.jump_targets),
            ("counters", model.config.two_bit), ("runs", model.config.branch_runs),
        ) if size]
        parts = {name: inside.component(name).words for name in names}
        # Targets alone have no words ahead.
        sides = [side for side in ("ahead", "behind") if any(len(getattr(words, side)) for words in parts.values())]
        fresh = Array(inside.signal("words", "fresh"))[model.warp]
        newer = Array(inside.signal("words", "newer"))[model.warp] if "ahead" in sides else Const(0, 1)
        self.newer, self.here = Signal(name="my_newer"), Signal(name="my_decode")
        #: ``here``: what was read early is of the symbolic warp, and is used.
        model.m.d.comb += [self.newer.eq(newer), self.here.eq((model.dut.warp == model.warp) & ~model.dropped)]
        shares: dict[str, dict[str, Value]] = {}
        for side in sides:
            layout = data.StructLayout({name: len(getattr(words, side)) for name, words in parts.items()})
            word = inside.look_at(f"words.{side}", model.warp, layout)
            shares[side] = {}
            for name in names:
                share = Signal(len(word[name]), name=f"my_{name}_{side}")
                model.m.d.comb += share.eq(Mux(fresh, 0, word[name]) if side == "behind" else word[name])
                shares[side][name] = share
        self.ahead, self.behind = shares.get("ahead", {}), shares["behind"]
        self.early = {name: words.behind for name, words in parts.items()}
        #: The word ahead, or what there is without one.
        self.present = {name: words.ahead for name, words in parts.items()}
        for name, words in parts.items():
            if len(words.ahead):
                model.claim(f"words: that of the {name} ahead was read early",
                            ~(self.here & newer) | (words.ahead == self.ahead[name]))
                if name != "stack":
                    model.claim(f"words: without one, nothing of the {name} is newer",
                                ~self.here | newer | (words.ahead == 0))

    def _each(self) -> list[tuple[int, Value, Any, Any, Any, Word]]:
        """Each place of the queue: whether it is taken, its event, the states before and after it, and its word."""
        model = self._model
        return [(i, model.held > i, event, model.before(i), model.after[i], Word(event.word))
                for i, event in enumerate(model.queue)]

    def _queue(self) -> None:
        """The queue is the path from ``base`` to ``state``."""
        model = self._model
        model.claim("the queue is not overfull", model.held <= model.depth)
        for i, held, event, before, after, word in self._each():
            settled = model.ideal.settle(f"settled_{i}", before, event)
            model.claim(f"unsettled {i} leads to the state after it", ~held | (after == settled))
            model.claim(f"unsettled {i}, the last, leads to the state", (model.held != i + 1) | (after == model.state))
            model.claim(f"unsettled {i} is a jump or branch", ~held | word.jumps)
            model.claim(f"unsettled {i}, if wrong, is the last, and off the path",
                        ~(held & event.wrong) | ~model.right & (model.held == i + 1))
            touches = word.conditional & (Const(1, 1) if model.config.two_bit else event.prediction.run)
            if model.config.return_stack:
                touches = touches | word.pushes | word.pops
            model.claim(f"unsettled {i}, if it changes what is ahead, is newer there",
                        ~(held & model.right & touches) | self.newer)
        model.claim("without any unsettled, both states are the same", (model.held != 0) | (model.base == model.state))

    def _at(self, number: Value, count: int) -> Value:
        """The address of an entry of the symbolic warp."""
        return Cat(number[:(count - 1).bit_length()], self._model.warp)

    def _look(self, path: str, number: Value, count: int, layout: data.Layout) -> Any:
        return self._model.inside.look_at(path, self._at(number, count), layout)

    def _stack(self) -> None:
        model, depth, place = self._model, self._model.config.return_stack, self._spot.place
        position = data.StructLayout({"count": range(depth + 1), "top": range(depth)})
        top = data.View(data.StructLayout({"place": position, "written": depth}), self.ahead["stack"])
        behind = data.View(position, self.behind["stack"])
        word = data.StructLayout({"call": NEAR_BITS})
        # The memories have the words of the calls; the address is that of the word behind.
        young, old = ((self._look(f"stack.{side}_addresses", place, depth, word).call + 1)[:NEAR_BITS]
                      for side in ("ahead", "behind"))
        base, state, right = model.base, model.state, model.right
        written = self.newer & top.written.bit_select(place, 1)
        count, at = (Mux(self.newer, top.place[name], behind[name]) for name in ("count", "top"))
        model.claim("stack: the place behind is that of the outcomes", (behind.count == base.count) & (
            behind.top == base.top))
        model.claim("stack: an address behind is that of the outcomes",
                    ~base.pushed | (old == base.call))
        for i, held, _, _, after, its in self._each():
            model.claim(f"stack: unsettled {i} has written ahead what it will write behind",
                        ~(held & right & its.pushes & (after.top == place)) | written)
        model.claim("stack: the place ahead is that of the decodes",
                    ~right | (count == state.count) & (at == state.top))
        model.claim("stack: an address ahead is that of the decodes",
                    ~(right & state.pushed) | (Mux(written, young, old) == state.call))
        early = data.View(top.shape(), self.present["stack"])
        model.claim("stack: the place behind was read early, unless there is one ahead",
                    ~(self.here & right) | self.newer | (early.place == behind))
        model.claim("stack: without one ahead, nothing was written there",
                    ~self.here | self.newer | (early.written == 0))
        model.claim("stack: it has no more addresses than places", state.count <= depth)
        below = Signal(range(max(2, depth)), name="below_top")
        model.m.d.comb += below.eq(state.top - place)
        model.claim("stack: the places up to the top hold addresses", (below >= state.count) | state.pushed)

    def _targets(self) -> None:
        model, count, entry = self._model, self._model.config.jump_targets, self._spot.target
        known = self.behind["targets"].bit_select(entry, 1)
        target = self._look("targets.targets", entry, count, data.StructLayout({"target": NEAR_BITS})).target
        for name, state, when in (("outcomes", model.base, Const(1, 1)), ("decodes", model.state, model.right)):
            model.claim(f"targets: what is known is what is known of the {name}", ~when | (known == state.known))
            model.claim(f"targets: the target is that of the {name}", ~(when & state.known) | (target == state.target))
        targets, here = model.inside.component("targets"), self.here & model.ideal.is_target(model.dut.pc)
        model.claim("targets: what is known was read early", ~here | (targets.known == known))
        model.claim("targets: the target was read early", ~here | (targets.target == target))

    def _counters(self) -> None:
        model, count, entry = self._model, self._model.config.two_bit, self._spot.counter
        word = data.StructLayout({"counter": 2})
        young, old = (self._look(f"counters.{side}", entry, count, word).counter for side in ("ahead", "behind"))
        old = Mux(self.behind["counters"].bit_select(entry, 1), old, 0)
        written = self.newer & self.ahead["counters"].bit_select(entry, 1)
        model.claim("counters: the one behind is that of the outcomes", old == model.base.counter)
        for i, held, event, _, _, its in self._each():
            model.claim(f"counters: unsettled {i} has counted ahead", ~(
                held & model.right & its.conditional & model.ideal.is_counter(event.pc)) | written)
        is_counted = self.behind["counters"].bit_select(entry, 1)
        model.claim("counters: whether there is one behind was read early, unless there is one ahead",
                    ~(self.here & model.right) | written
                    | (self.early["counters"].bit_select(entry, 1) == is_counted))
        model.claim("counters: the one ahead is that of the decodes",
                    ~model.right | (Mux(written, young, old) == model.state.counter))

    def _runs(self) -> None:
        model, sets, group = self._model, self._model.config.branch_runs // RUN_WAYS, self._spot.group
        layout = data.StructLayout({"valid": RUN_WAYS, "next": 1})
        word = data.View(layout, self.behind["runs"].word_select(group, layout.size))
        newer = [self.newer & self.ahead["runs"].bit_select(Cat(Const(i, 1), group[:(sets - 1).bit_length()]), 1)
                 for i in range(RUN_WAYS)]
        for i, held, event, before, _, its in self._each():
            mine = held & model.right & its.conditional & model.ideal.is_set(event.pc)
            hit, way = model.ideal.hit(before, event.pc)
            model.claim(f"runs: unsettled {i} knows whether it has an entry",
                        ~(held & its.conditional & model.ideal.is_set(event.pc)) | (event.prediction.run == hit)
                        & (~hit | (event.prediction.way == way)))
            for k in range(RUN_WAYS):
                model.claim(f"runs: unsettled {i} has counted ahead, in way {k}",
                            ~(mine & event.prediction.run & (event.prediction.way == k)) | newer[k])
        for name, state in [("outcomes", model.base), ("decodes", model.state),
                            *((f"unsettled {i}", model.after[i]) for i in range(model.depth))]:
            model.claim(f"runs: the second way is in use after the first: {name}", ~state.valid[1] | state.valid[0])
            model.claim(f"runs: the next way is the free one: {name}",
                        state.valid.all() | (state.next == state.valid[0]))
            model.claim(f"runs: no two ways have the same tag: {name}",
                        ~state.valid[1] | (state.ways[0].tag != state.ways[1].tag))
            model.claim(f"runs: none is of length 0: {name}",
                        Cat(~state.valid[i] | state.ways[i].count.any() for i in range(RUN_WAYS)).all())
        for name, state, when in (("outcomes", model.base, Const(1, 1)), ("decodes", model.state, model.right)):
            model.claim(f"runs: the ways are those of the {name}",
                        ~when | (word.valid == state.valid) & (word.next == state.next))
        tags, lengths, runs = [], [], []
        for i in range(RUN_WAYS):
            tag = self._look(f"runs.tags_{i}", group, sets, data.StructLayout({"tag": TAG_BITS})).tag
            counts = data.StructLayout({"length": _COUNT_BITS})
            entry = Cat(Const(i, 1), group[:(sets - 1).bit_length()])
            ends = [self._look(f"runs.lengths_{taken}", entry, 2 * sets, counts).length for taken in range(2)]
            young, old = (
                self._look(f"runs.{side}", entry, 2 * sets, _RUN).as_value() for side in ("ahead", "behind")
            )
            ahead = data.View(_RUN, Mux(newer[i], young, old))
            tags.append(tag)
            lengths.append(Cat(ends))
            runs.append(ahead.as_value())
            for name, state, when, run in (("outcomes", model.base, Const(1, 1), data.View(_RUN, old)),
                                           ("decodes", model.state, model.right, ahead)):
                way, known = state.ways[i], when & state.valid[i]
                model.claim(f"runs: the tag of way {i} is that of the {name}", ~known | (tag == way.tag))
                for taken in range(2):
                    model.claim(f"runs: the length {taken} of way {i} is that of the {name}",
                                ~known | (ends[taken] == way.lengths[taken]))
                model.claim(f"runs: the run of way {i} is that of the {name}",
                            ~known | (run.taken == way.taken) & (run.count == way.count))
        self._early_runs(word.valid, tags, lengths, runs)

    def _early_runs(self, valid: Value, tags: Sequence[Value], lengths: Sequence[Value], runs: Sequence[Value]) -> None:
        """What was read early of the symbolic set. Its present runs, ``runs``, are those ahead if they are newer."""
        model, inside, pc = self._model, self._model.inside, self._model.dut.pc
        part, here = inside.component("runs"), self.here & model.ideal.is_set(pc)
        low = 2 + (model.config.branch_runs // RUN_WAYS - 1).bit_length()
        hits = [valid[i] & (tag == pc[low:low + TAG_BITS]) for i, tag in enumerate(tags)]
        model.claim("runs: whether there is an entry was read early", ~here | (part.run == Cat(hits).any()))
        model.claim("runs: its way was read early", ~(here & part.run) | (part.way == hits[1]))
        known = Mux(part.way, *reversed(lengths))
        run = data.View(_RUN, inside.signal("runs", "present"))
        length = Mux(run.taken, known[_COUNT_BITS:], known[:_COUNT_BITS])
        model.claim("runs: whether its run decides was computed early", ~here | (
            inside.signal("runs", "decides") == part.run & ((length != 0) | (run.count >= 2))))
        model.claim("runs: what its run predicts was computed early", ~(here & part.run) | (
            inside.signal("runs", "predicts") == run.taken ^ (run.count == length)))
        model.claim("runs: its present run was read early",
                    ~(here & model.right & model.follows & part.run)
                    | (inside.signal("runs", "present") == Mux(part.way, *reversed(runs))))
