"""Broken designs of a GPU with the interconnect ``tdm``, for P11 (:mod:`.broken`)."""

from __future__ import annotations

from metronome.hdl.gpu.config import Dispatch

from .defect import Defect

__all__ = ["BROKEN_SMS"]

_INTERCONNECT = "metronome.hdl.gpu.interconnect:MemoryInterconnect"
_QUEUE = "metronome.hdl.gpu.response_queue:ResponseQueue.elaborate"
_UNIT = "metronome.hdl.gpu.dispatch:DispatchUnit"
_PORT = "metronome.hdl.gpu.dispatch:DispatchPort"
_ACCEPTED = "its requests are accepted in the same cycles"
_CONTENTS = "its responses come with the same contents"
_TAKEN = "a response waits for no SM at the memory port"


def _of(name: str, method: str, old: str, new: str, claim: str = "", slot: int = 1) -> Defect:
    return Defect(name, "P11", method, old, new, parameters=(("sms", 2), ("slot_cycles", slot)), claim=claim)


def _handed(name: str, method: str, old: str, new: str, claim: str = "") -> Defect:
    return Defect(f"blocks: {name}", "P11", method, old, new, claim=claim,
                  parameters=(("sms", 2), ("slot_cycles", 1), ("dispatch", Dispatch.STATIC)))


BROKEN_SMS = (
    _of("an SM may use the slot of another that asks for nothing", f"{_INTERCONNECT}._choice",
        "return self._slot(m)",
        "return (its := self._slot(m)) & asks | lowest_one(asks) & ~(its & asks).any().replicate(count)", _ACCEPTED),
    _of("a request stays in the register for another slot", f"{_INTERCONNECT}.elaborate",
        "free.eq(~request.valid | request.ready)", "free.eq(~request.valid)", _ACCEPTED),
    _of("no request is accepted while memory answers", f"{_INTERCONNECT}.elaborate",
        "free.eq(~request.valid | request.ready)", "free.eq((~request.valid | request.ready) & ~response.valid)"),
    _of("a slot lasts longer while memory answers", f"{_INTERCONNECT}._slot",
        "cycle.eq(cycle + 1)", "cycle.eq(cycle + ~self.port.response.valid)", slot=3),
    _of("a slot is a cycle longer", f"{_INTERCONNECT}._slot",
        "cycle == self._config.slot_cycles - 1", "cycle == self._config.slot_cycles",
        "a request of the SM waits at most (n - 1) S cycles", slot=3),
    _of("a response goes to all SMs", f"{_INTERCONNECT}.elaborate",
        "response.valid & (response.payload.tag[own:] == i)", "response.valid"),
    _of("the queue of an SM is emptied by another", f"{_INTERCONNECT}._queues",
        "queue.offered.ready.eq(port.response.ready)", "queue.offered.ready.eq(ports[-1].response.ready)"),
    _of("a response waits at the memory port until its SM takes it", f"{_INTERCONNECT}._queues",
        "arriving.append(queue.arriving)", "arriving.append(port.response)", _TAKEN),
    _of("a queue takes a response only when it is empty", _QUEUE,
        "arriving.ready.eq(waiting.w_rdy)", "arriving.ready.eq(~waiting.r_rdy)", _TAKEN),
    _handed("an SM gets the block after that of another", f"{_UNIT}._by_sm",
            'getattr(self.sms, f"sm_{i}").takes', "(self.sms.sm_0.takes | self.sms.sm_1.takes)", _CONTENTS),
    _handed("blocks go to the SM that asks first", f"{_UNIT}.elaborate",
            "if dynamic else", "if self._config.sms else", _CONTENTS),
    _handed("no SM takes a block while another asks", f"{_PORT}.elaborate",
            "request.ready.eq(Mux(takes, ~waits, below.ready)),",
            "request.ready.eq(Mux(takes, ~waits & ~(self.wires[1][0] & int(self.number < 1)), below.ready)),"
            "self.wires[self.number].eq(request.valid & takes),",
            _ACCEPTED),
    _handed("the unit gives one answer a cycle", f"{_PORT}.elaborate",
            "first.eq(waits & ~held),",
            "self.wires[self.number].eq(waits), first.eq(waits & ~held & ~(self.wires[1][0] & int(self.number < 1))),"),
)
