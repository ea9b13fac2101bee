"""The entrance of the load/store unit: credits, addresses, the queue."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ...config import SmConfig
from ...layouts.execute import lsu_request_layout
from ...lib.component import Component
from ...lib.stacks import same_line, to_bus
from .records import entry_layout, pair_bits

__all__ = ["Entrance", "fence_ports", "take_ports"]


def take_ports(config: SmConfig) -> dict[str, wiring.Member]:
    """The ports through which loads and stores enter: those of the entrance, and of the whole load/store unit."""
    return {
        #: A load or store is selected in this cycle; only while ``ready``. From the issue stage.
        "take": In(1),
        #: With ``take``: its warp.
        "take_warp": In(config.warp_bits),
        #: With ``take``: it is a store.
        "take_store": In(1),
        #: A slot is free. Registered state only.
        "ready": Out(1),
        #: The request of the take ``issue_latency`` cycles ago arrives; otherwise ``cancel`` does. From stage X.
        "request_valid": In(1),
        #: With ``request_valid``: the request.
        "request": In(lsu_request_layout(config)),
        #: In the cycle of the request: the load or store is cancelled, and sends no request.
        "cancel": In(1),
    }


def fence_ports() -> dict[str, wiring.Member]:
    """The ports with which requests wait at fences.

    The first request after a fence waits at the head until all that was before it is done. Then the cache is emptied,
    in one cycle, and the request goes on in the next.
    """
    return {
        #: A fence: of the requests from the next cycle on, the first one waits.
        "fence": In(1),
        #: Nothing that has left the queue is under way: no access, no line of a load or a store.
        "drained": In(1),
        #: The data cache is empty from the next cycle on. Only while ``drained``.
        "invalidate": Out(1),
    }


class Entrance(Component):
    """Accepts loads and stores, computes their addresses and passes them on in order.

    A slot of the queue belongs to an instruction from its ``take`` until ``pop`` or ``cancel``. ``ready`` is derived
    from the number of slots in use. It allows one instruction per cycle if each leaves the queue in the cycle after its
    arrival. A request that arrives in cycle c is at ``head`` in c+1 at the earliest. Reset: empty.

    Parameters
    ----------
    depth
        Slots; at least ``issue_latency`` + 1 (the cycles between take and request, one in the queue) for one
        instruction a cycle.
    fences
        Whether requests wait at fences (:func:`fence_ports`).
    """

    def __init__(self, config: SmConfig, *, depth: int, fences: bool = False) -> None:
        if depth <= config.issue_latency:
            raise ValueError(f"depth must be at least {config.issue_latency + 1}, not {depth!r}")
        self.config = config
        self.depth = depth
        self._fences = fences
        super().__init__({
            **take_ports(config),
            **(fence_ports() if fences else {}),
            #: With ``cancel``: the cancelled instruction is a store.
            "cancelled_store": Out(1),
            #: With ``cancel``: the warp of the cancelled instruction.
            "cancelled_warp": Out(config.warp_bits),
            #: The queue holds a request.
            "head_valid": Out(1),
            #: The oldest request; stable until ``pop``.
            "head": Out(entry_layout(config)),
            #: The coalescer has finished with the head.
            "pop": In(1),
            #: A slot is in use. From the cycle after a take.
            "busy": Out(1),
            #: May never happen: a take without ``ready``, a request or cancel without its take, no space for a request.
            "overflow": Out(1),
        })

    def _entry(self, m: Module) -> data.View:
        """The queue entry of ``request``: addresses added, lanes classified."""
        config, request = self.config, self.request
        local_bits = (config.local_bytes - 1).bit_length()
        entry = Signal(entry_layout(config))
        for name in ("warp", "pc", "op", "rd", "writes_rd", "mask", "data"):
            m.d.comb += entry[name].eq(request[name])
        size = request.op[:2]
        local, misaligned, addresses = [], [], []
        for lane in range(config.threads):
            address = Signal(32, name=f"address{lane}")
            m.d.comb += [
                address.eq(request.base[lane] + request.offset),
                entry.address[lane].eq(to_bus(m, config, address, f"bus_address{lane}")),
            ]
            addresses.append(address)
            local.append(address[local_bits:] == config.memory_map.local >> local_bits)
            misaligned.append(((size != 0) & address[0]) | (size[1] & address[1]))
        m.d.comb += [
            entry.local.eq(request.mask & Cat(local)),
            entry.misaligned.eq(request.mask & Cat(misaligned)),
            entry.equal.eq(self._equal(m, addresses)),
        ]
        return entry

    def _equal(self, m: Module, addresses: list[Signal]) -> Value:
        """For each pair of lanes, whether the pieces of their lines are equal. ``addresses``: those of the program."""
        pieces = pair_bits(self.config)
        if not pieces:
            return Const(0, 0)
        return Cat(
            same_line(m, self.config, addresses[low], addresses[lane], pieces=pieces, name=f"pair{low}_{lane}")
            for lane in range(len(addresses)) for low in range(lane)
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = entry_layout(self.config)
        if self.config.lookup_latency > 1:
            space = self._registered_queue(m)
        else:
            m.submodules.queue = queue = SyncFIFO(width=layout.size, depth=self.depth)
            space = queue.w_rdy
            m.d.comb += [
                queue.w_data.eq(self._entry(m).as_value()),
                queue.w_en.eq(self.request_valid),
                self.head_valid.eq(self._leaves(m, queue.r_rdy)),
                self.head.as_value().eq(queue.r_data),
                queue.r_en.eq(self.pop),
            ]

        used = Signal(range(self.depth + 1))
        # Take and pop come late: each value that they choose from is computed before.
        base = used - self.cancel
        m.d.sync += used.eq(Mux(self.take == self.pop, base, Mux(self.take, base + 1, base - 1)))
        m.d.comb += [self.ready.eq(used < self.depth), self.busy.eq(used != 0)]

        expected = self._expected(m)
        due = Cat(expected.take & ~self.cancel, expected.take & self.cancel)
        m.d.comb += [
            self.cancelled_store.eq(self.cancel & expected.store),
            self.cancelled_warp.eq(expected.warp),
            self.overflow.eq(
                (self.take & ~self.ready)
                | (self.request_valid & ~space)
                | (Cat(self.request_valid, self.cancel) != due)
            ),
        ]
        return m

    def _leaves(self, m: Module, there: Value) -> Value:
        """Whether the head may leave: it is ``there``, and no fence is in front of it that is not over."""
        if not self._fences:
            return there
        fence, over, waits = Signal(name="fence_before_next"), Signal(name="fence_over"), Signal(name="head_waits")
        m.submodules.marks = marks = SyncFIFO(width=1, depth=self.depth)
        m.d.sync += fence.eq(self.fence | (fence & ~self.request_valid))
        m.d.comb += [
            marks.w_data.eq(fence), marks.w_en.eq(self.request_valid), marks.r_en.eq(self.pop),
            waits.eq(marks.r_data & ~over),
            self.invalidate.eq(there & waits & self.drained),
        ]
        m.d.sync += over.eq((self.invalidate | over) & ~self.pop)
        return there & ~waits

    def _registered_queue(self, m: Module) -> Value:
        """The queue with its head in a register; a request that finds nothing before it goes there at once.

        Return whether it has space. Its cycles are those of the queue without the register.
        """
        bits = (self.depth - 1).bit_length()
        first, free = Signal(bits, name="first"), Signal(bits, name="free")
        waits, there, moves = Signal(name="others_wait"), Signal(name="head_there"), Signal(name="moves")
        entry = self._entry(m)
        m.submodules.queue = queue = Memory(shape=entry_layout(self.config), depth=1 << bits, init=[])
        write, read = queue.write_port(), queue.read_port(domain="comb")
        put = self.request_valid & (waits | ~moves)
        m.d.comb += [
            moves.eq(self.pop | ~there),
            self.head_valid.eq(self._leaves(m, there)),
            # A request that bypasses the queue is written, too, because the bypass is decided late.
            write.addr.eq(free), write.data.eq(entry), write.en.eq(self.request_valid),
            read.addr.eq(first),
        ]
        with m.If(put):
            m.d.sync += free.eq(free + 1)
        with m.If(moves):
            m.d.sync += [
                there.eq(waits | self.request_valid),
                self.head.eq(Mux(waits, read.data.as_value(), entry.as_value())),
                first.eq(first + waits), waits.eq(waits & ((free != (first + 1)[:bits]) | self.request_valid)),
            ]
        with m.Elif(self.request_valid):
            m.d.sync += waits.eq(1)
        return ~(waits & (first == free))

    def _expected(self, m: Module) -> data.View:
        """The take whose request or cancel is due now."""
        layout = data.StructLayout({"take": 1, "store": 1, "warp": self.config.warp_bits})
        stage = Signal(layout)
        m.d.comb += [stage.take.eq(self.take), stage.store.eq(self.take_store), stage.warp.eq(self.take_warp)]
        for number in range(1, self.config.issue_latency + 1):
            later = Signal(layout, name=f"taken{number}")
            m.d.sync += later.eq(stage)
            stage = later
        return stage
