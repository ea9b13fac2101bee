"""The SM's side of the memory port for tests of models: closed-loop traffic, served early or as late as allowed."""

import random
from dataclasses import dataclass

LINE = 0x8000_0000 // 64
ALL = (1 << 64) - 1


@dataclass(frozen=True)
class Request:
    """``cycle``: when it is offered, at the earliest."""

    cycle: int
    line: int
    write: bool = False
    byte_mask: int = ALL
    data: bytes = bytes(64)


@dataclass(frozen=True)
class Answer:
    """What became of a request: the cycles in which it was accepted and due."""

    accepted: int
    due: int
    error: bool
    data: bytes

    @property
    def latency(self):
        return self.due - self.accepted


def drive(model, requests, *, tags=64, late=True, settle=0):
    """Offer ``requests`` in order, one a cycle; the :class:`Answer` of each.

    As tb/mailbox.cpp and tb/mailbox.py do it: a tag is free again when its answer is due; the model is told of a
    request up to min(lookahead, room) cycles late (``late``), or in its own cycle; it is woken by ``next_due``.
    ``settle``: cycles to go on for after the last answer.
    """
    waiting = list(reversed(requests))
    free = list(reversed(range(tags)))
    under_way, untold, answers = {}, [], {}
    accepted = {}
    answered = []  # (due, tag) of answers that are not due yet, in order
    cycle, count = 0, 0
    while waiting or under_way:
        while answered and answered[0][0] <= cycle:
            free.append(answered.pop(0)[1])
        if waiting and waiting[-1].cycle <= cycle and cycle >= model.ready_from and free:
            request = waiting.pop()
            tag = free.pop()
            under_way[tag] = count
            accepted[count] = cycle
            count += 1
            untold.append((cycle, tag, request.line, request.write, request.byte_mask, request.data))
        wait = min(model.lookahead, model.room) if late else 1
        due = model.next_due
        if (untold and cycle - untold[0][0] + 1 >= wait) or (due is not None and cycle >= due - 1):
            for one in untold:
                model.request(*one)
            untold.clear()
            for due, tag, error, data in model.complete(cycle + model.lookahead):
                assert due > cycle, f"in cycle {cycle}, an answer that was due in {due}"
                number = under_way.pop(tag)
                answers[number] = Answer(accepted[number], due, error, data)
                answered.append((due, tag))
        cycle = _next_cycle(cycle, waiting, untold, answered, free, model)
        assert cycle < 1 << 40, "the model never answers"
    if settle:
        model.complete(cycle + settle)
    return [answers[number] for number in range(count)]


def _next_cycle(cycle, waiting, untold, answered, free, model):
    """The next cycle in which anything can happen: cycle + 1, unless nothing but an answer can."""
    if untold:
        return cycle + 1
    times = []
    if model.next_due is not None:
        times.append(model.next_due - 1)
    if answered:
        times.append(answered[0][0])
    if waiting and free:
        times.append(max(waiting[-1].cycle, model.ready_from))
    return max(cycle + 1, min(times, default=cycle + 1))


def random_requests(rng: random.Random, count: int, *, lines: int, gap: int, writes: float) -> list[Request]:
    """Lines out of the first ``lines`` of memory, in runs and at random, with pauses of up to ``gap`` cycles."""
    requests = []
    cycle, line = 0, 0
    for _ in range(count):
        cycle += rng.choice((0, 0, 0, rng.randint(0, gap)))
        line = line + 1 if rng.random() < 0.5 else rng.randrange(lines)
        write = rng.random() < writes
        mask = rng.choice((ALL, rng.getrandbits(64), 1 << rng.randrange(64)))
        requests.append(Request(cycle, LINE + line % lines, write, mask, rng.randbytes(64)))
    return requests
