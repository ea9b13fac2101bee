"""Broken designs of a GPU whose L2 is divided, for P11 (:mod:`.broken`).

The parts of an L2 know nothing of each other. In the harness each has a ``number``, and ``wires`` between all parts,
one for each to drive. Only these designs use them.
"""

from __future__ import annotations

from metronome.hdl.gpu.config import L2Kind

from .defect import Defect

__all__ = ["BROKEN_L2"]

_GPU = "metronome.hdl.gpu.gpu:Gpu.elaborate"
_L2 = "metronome.hdl.gpu.l2.cache:L2"
_INTERCONNECT = "metronome.hdl.gpu.interconnect:MemoryInterconnect"
#: Each names a claim only because the search for one is faster: others may see it, too.
_ACCEPTED = "its requests are accepted in the same cycles"
_COMES, _SAME = "its responses come in the same cycles", "its responses come with the same contents"
_SENT = "memory gets its requests in the same cycles"
_STORED, _IN_PART = "its queue stores the same", "its part of the L2: {} stores the same"
#: The smallest L2 of two SMs: two sets, and two ways and two requests for each SM.
_SMALL = (("sms", 2), ("slot_cycles", 1), ("l2", L2Kind.DIVIDED), ("l2_bytes", 512), ("l2_ways", 4), ("l2_requests", 4))


def _of(name: str, method: str, old: str, new: str, claim: str) -> Defect:
    return Defect(f"L2: {name}", "P11", method, old, new, parameters=_SMALL, claim=claim)


BROKEN_L2 = (
    _of("the entries of a part are full when those of another are", f"{_L2}._lookup",
        "~requests.full & (~sends | may_send))),",
        "~Cat(self.wires).any() & (~sends | may_send))), self.wires[self.number].eq(requests.full),",
        _SENT),
    _of("the register for writes and misses is one for all SMs", f"{_L2}._lookup",
        "(~request.valid | request.ready) & ~Mux(head.write, requests.some_open, requests.write_open)),",
        "~Cat(self.wires).any() & ~Mux(head.write, requests.some_open, requests.write_open)),"
        "self.wires[self.number].eq(request.valid & ~request.ready),",
        _SENT),
    _of("the queue of requests is full for all SMs", f"{_L2}._queue",
        "queue.w_en.eq(request.valid), request.ready.eq(queue.w_rdy),",
        "queue.w_en.eq(request.valid & request.ready), request.ready.eq(~Cat(self.wires).any()),"
        "self.wires[self.number].eq(~queue.w_rdy),",
        _ACCEPTED),
    _of("one lookup a cycle, for the SM with the highest number", f"{_L2}._lookup",
        "goes.eq(\n            valid &",
        "self.wires[self.number].eq(valid), goes.eq(valid & ~Cat(self.wires[self.number + 1:]).any() &",
        _SENT),
    _of("a hit of another SM counts as a use", f"{_L2}.elaborate",
        "tags.use.eq(goes & tags.hit),",
        "tags.use.eq(Cat(self.wires).any()), self.wires[self.number].eq(goes & tags.hit),",
        _IN_PART.format("tags.order")),
    _of("a line goes into the way that another SM replaces next", f"{_L2}.elaborate",
        "writer.addr.eq(Mux(answers.install, Cat(filled, encode(tags.victim)), place)),",
        "writer.addr.eq(Mux(answers.install, Cat(filled, encode(self.wires[-1][:len(tags.victim)])), place)),"
        "self.wires[self.number].eq(tags.victim),",
        _IN_PART.format("lines")),
    _of("a hit gives the line that another SM has read", f"{_L2}.elaborate",
        'answers.hit_data.eq(registered_read(m, lines, address=place, enable=answers.hit, name="line_read")),',
        "self.wires[self.number].eq(registered_read(m, lines, address=place, enable=answers.hit, name='line_read')),"
        "answers.hit_data.eq(self.wires[-1]),",
        _SAME),
    _of("a fence of an SM empties all parts", _GPU,
        "l2[i].invalidate.eq(sm.fences)", "l2[i].invalidate.eq(or_all(each.fences for each in sms))",
        _SENT),
    _of("the answers of all parts leave through one port", _GPU,
        "connect(m, l2[i].sms.response, ports[i][1])",
        "connect(m, l2[i].sms.response, ports[i][1])\n"
        "            waits = l2[-1].sms.response.valid & (l2[i] is not l2[-1])\n"
        "            m.d.comb += [\n"
        "                ports[i][1].valid.eq(l2[i].sms.response.valid & ~waits),\n"
        "                l2[i].sms.response.ready.eq(ports[i][1].ready & ~waits)]",
        _COMES),
    _of("an SM may use the slot of another that asks for nothing", f"{_INTERCONNECT}._choice",
        "return self._slot(m)",
        "return (its := self._slot(m)) & asks | lowest_one(asks) & ~(its & asks).any().replicate(count)",
        _SENT),
    _of("the queue of responses is emptied by another SM", f"{_INTERCONNECT}._queues",
        "queue.offered.ready.eq(port.response.ready)", "queue.offered.ready.eq(ports[-1].response.ready)",
        _STORED),
)
