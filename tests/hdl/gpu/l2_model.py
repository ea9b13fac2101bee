"""A plain Python model of the L2's cycles, without data: from the table of docs/gpu.md, not from the hardware."""

from dataclasses import dataclass, field
from functools import reduce

LINE_BITS = 26


@dataclass
class Entry:
    """A request that waits for memory, or with another one for its line."""

    line: int
    write: bool
    tag: int
    keeps: bool
    leader: int
    open: bool = True


@dataclass
class Model:
    """The L2 or a part of it: ``offers`` says what it shows in a cycle, ``step`` ends the cycle."""

    sets: int
    ways: int
    requests: int
    user: int  # the first line that may be cached
    queue: list = field(default_factory=list)  # at most two of (line, write, tag)
    entries: dict = field(default_factory=dict)
    sent: tuple | None = None  # (number, line, write), in front of memory
    fill: dict | None = None  # the answer that is passed on
    hit: int | None = None  # the tag of a hit
    hit_stays: bool = False
    counts: dict = field(default_factory=lambda: dict.fromkeys(("reads", "hits", "merged", "writes"), 0))

    def __post_init__(self):
        self.tags = [[None] * self.ways for _ in range(self.sets)]
        # For each set its ways, least recently used first; a use is added one cycle late.
        self.order = [list(range(self.ways)) for _ in range(self.sets)]
        self.used = None
        self.freed = []

    def set_of(self, line):
        bits = (self.sets - 1).bit_length()
        groups = (line >> start & self.sets - 1 for start in range(0, LINE_BITS, bits))
        return reduce(lambda one, other: one ^ other, groups)

    def _gives_hit(self):
        return self.hit is not None and (self.hit_stays or self.fill is None)

    def _waiting(self):
        """The entries that wait for the answer in the register, the next one first."""
        number = self.fill["number"]
        joined = sorted(k for k, entry in self.entries.items() if entry.leader == number and k != number)
        return [number] * self.fill["first"] + joined

    def offers(self):
        """(ready, the request to memory or None, the tag answered or None)."""
        if self._gives_hit():
            answer = self.hit
        else:
            answer = None if self.fill is None else self.entries[self._waiting()[0]].tag
        return len(self.queue) < 2, self.sent, answer

    def takes_answer(self, ready):
        """Whether memory's answer is accepted."""
        return self.fill is None or (ready and not self._gives_hit() and len(self._waiting()) == 1)

    def step(self, *, request, sent, answer, ready, forget=False):
        """End the cycle.

        ``request``: the one accepted, or None; ``sent``: whether memory accepts one; ``answer``: (number, error) of
        memory's answer that is accepted, or None; ``ready``: whether the SMs accept an answer.
        """
        fill, gives_hit = self.fill, self._gives_hit()
        installs = fill is not None and fill["fresh"] and fill["keeps"] and not fill["error"]
        goes = self._lookup(installs, sent or self.sent is None, self.hit is None or (gives_hit and ready))
        if installs:
            place = self.set_of(fill["line"])
            victim = self.order[place][0] if any(tag is not None for tag in self.tags[place]) else 0
        touched, self.used = self.used, None
        if touched is not None:
            self._touch(*touched)
        if installs:
            self.tags[place][victim] = fill["line"]
            self._touch(place, victim)
        if sent:
            self.sent = None
        self._pass_on(gives_hit, ready)
        self._go(goes)
        if answer is not None:
            number, error = answer
            entry = self.entries[number]
            self.fill = {"number": number, "first": True, "fresh": True, "error": error, "line": entry.line,
                         "keeps": entry.keeps and not forget}
            for each in self.entries.values():
                each.open &= each.leader != number
        if forget:
            self.tags = [[None] * self.ways for _ in range(self.sets)]
            for entry in self.entries.values():
                entry.keeps = False
        if request is not None:
            self.queue.append(request)

    def _touch(self, place, way):
        self.order[place].remove(way)
        self.order[place].append(way)

    def _lookup(self, installs, may_send, hit_free):
        """What happens in the lookup: None, "hit", "joins" or "sends"."""
        if not self.queue:
            return None
        line, write, _ = self.queue[0]
        place = self.set_of(line)
        if installs and (write or self.set_of(self.fill["line"]) == place):
            return None
        if not write and line in self.tags[place]:
            return "hit" if hit_free else None
        if len(self.entries) == self.requests:
            return None
        opened = [entry for k, entry in self.entries.items()
                  if entry.open and entry.leader == k and entry.line == line and line >= self.user]
        if not write and any(entry.keeps for entry in opened):
            return "joins"
        blocked = opened if write else [entry for entry in opened if entry.write]
        return "sends" if may_send and not blocked else None

    def _pass_on(self, gives_hit, ready):
        fill = self.fill
        self.hit_stays = gives_hit and not ready
        if gives_hit:
            if ready:
                self.hit = None
        elif fill is not None and ready:
            waiting = self._waiting()
            if waiting[0] != fill["number"]:
                self.freed.append(waiting[0])
            fill["first"] = False
            if len(waiting) == 1:
                self.freed.append(fill["number"])
                self.fill = None
        if self.fill is not None:
            self.fill["fresh"] = False

    def _go(self, goes):
        freed, self.freed = self.freed, []
        if goes is not None:
            line, write, tag = self.queue.pop(0)
            place = self.set_of(line)
            self.counts["writes" if write else "reads"] += 1
            if line in self.tags[place]:
                self.used = place, self.tags[place].index(line)
            if goes == "hit":
                self.counts["hits"] += 1
                self.hit = tag
            else:
                self.counts["merged"] += goes == "joins"
                number = min(set(range(self.requests)) - self.entries.keys())
                leader = number
                if goes == "joins":
                    leader = next(k for k, entry in self.entries.items() if entry.open and entry.leader == k
                                  and entry.line == line and entry.keeps)
                cached = line >= self.user and not write
                self.entries[number] = Entry(line, write, tag, cached, leader)
                if goes == "sends":
                    self.sent = number, line, write
        for number in freed:
            del self.entries[number]
