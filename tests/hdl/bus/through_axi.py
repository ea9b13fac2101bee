"""An SM whose memory port goes over AXI and back: all that the project runs on an SM runs on the bridge.

SM -> :class:`hdl.bus.axi.AxiMaster` -> rules -> :class:`LineSlave` -> the port that the memory models serve. So random
programs run in lock step with the golden model, on every model of memory, with the bridge between.
"""

from amaranth.back import verilog
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped

from metronome.hdl.bus.axi import AxiMaster
from metronome.hdl.bus.signatures import axi4_signature
from metronome.hdl.config import LINE_BYTES, LINE_NUMBER_BITS, SmConfig
from metronome.hdl.layouts.memory import memory_port_signature
from metronome.hdl.lib.collector import collector_paused
from metronome.hdl.lib.onehot import encode, lowest_one, one_hot
from metronome.hdl.lib.shared import SharedModules
from metronome.hdl.sm import Sm
from metronome.tb.axi_rules import AxiRules

#: Bits of the pseudo-random numbers that decide what the slave does.
_RANDOM_BITS = 64


class LineSlave(wiring.Component):
    """An AXI slave that asks a line port: random readies, beats of all reads mixed at random, B when it likes."""

    def __init__(self, config: SmConfig, *, data_bits: int, id_bits: int) -> None:
        self._data_bits, self._id_bits = data_bits, id_bits
        assert config.mem_tag_bits > id_bits
        super().__init__({
            "axi": In(axi4_signature(data_bits=data_bits, id_bits=id_bits)),
            "port": Out(memory_port_signature(config)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        port = self.port
        noise = Signal(_RANDOM_BITS, init=0x9E3779B97F4A7C15)
        # xorshift: three steps of it in one cycle.
        first = noise ^ (noise << 13)[:_RANDOM_BITS]
        second = first ^ (first >> 7)
        m.d.sync += noise.eq(second ^ (second << 17)[:_RANDOM_BITS])
        self._noise = noise
        write = self._writes(m)
        read = self._reads(m)
        request, response = port.request, port.response
        # Writes first; what is offered stays, as each of them does.
        held, chosen = Signal(), Signal()
        m.d.comb += [
            chosen.eq(Mux(held, self._last, write.valid)),
            request.valid.eq(write.valid | read.valid),
            request.payload.write.eq(chosen),
            request.payload.line.eq(Mux(chosen, write.line, read.line)),
            request.payload.tag.eq(Mux(chosen, Cat(write.id, 1), read.id)),
            request.payload.byte_mask.eq(write.mask), request.payload.data.eq(write.data),
            write.ready.eq(request.ready & chosen), read.ready.eq(request.ready & ~chosen),
            response.ready.eq(self._may_end),
        ]
        m.d.sync += [held.eq(request.valid & ~request.ready), self._last.eq(chosen)]
        return m

    def _writes(self, m: Module) -> data.View:
        axi, id_bits = self.axi, self._id_bits
        self._last = Signal()
        out = Signal(data.StructLayout({
            "valid": 1, "ready": 1, "id": id_bits, "line": LINE_NUMBER_BITS, "mask": LINE_BYTES, "data": 8 * LINE_BYTES,
        }), name="write")
        m.submodules.announced = announced = SyncFIFOBuffered(width=id_bits + LINE_NUMBER_BITS, depth=4)
        m.submodules.done = done = SyncFIFOBuffered(width=id_bits + 1, depth=1 << id_bits)
        self._may_end = done.w_rdy  # a short one has no room for two in a row
        whole, bytes_, mask = Signal(), Signal(8 * LINE_BYTES), Signal(LINE_BYTES)
        width = self._data_bits
        m.d.comb += [
            axi.awready.eq(announced.w_rdy & self._noise[0]), announced.w_en.eq(axi.awvalid & axi.awready),
            announced.w_data.eq(Cat(axi.awid, axi.awaddr >> 6)),
            axi.wready.eq(~whole & self._noise[1:3].any()),
            out.valid.eq(whole & announced.r_rdy), announced.r_en.eq(out.valid & out.ready),
            Cat(out.id, out.line).eq(announced.r_data), out.mask.eq(mask), out.data.eq(bytes_),
        ]
        with m.If(axi.wvalid & axi.wready):
            m.d.sync += [
                bytes_.eq(Cat(bytes_[width:], axi.wdata) if width < 512 else axi.wdata),
                mask.eq(Cat(mask[width // 8 :], axi.wstrb) if width < 512 else axi.wstrb), whole.eq(axi.wlast),
            ]
        with m.If(out.valid & out.ready):
            m.d.sync += whole.eq(0)
        response = self.port.response
        # The tag's bit above the id: a write.
        m.d.comb += [
            done.w_en.eq(response.valid & response.ready & response.payload.tag[id_bits]),
            done.w_data.eq(Cat(response.payload.tag[:id_bits], response.payload.error)),
            done.r_en.eq(done.r_rdy & (~axi.bvalid | axi.bready) & self._noise[3]),
        ]
        with m.If(axi.bready):
            m.d.sync += axi.bvalid.eq(0)
        with m.If(done.r_en):
            m.d.sync += [axi.bvalid.eq(1), axi.bid.eq(done.r_data[:id_bits]), axi.bresp.eq(Cat(0, done.r_data[-1]))]
        return out

    def _reads(self, m: Module) -> data.View:
        axi, id_bits = self.axi, self._id_bits
        ids, beats = 1 << id_bits, 8 * LINE_BYTES // self._data_bits
        beat_bits = (beats - 1).bit_length()
        out = Signal(data.StructLayout({"valid": 1, "ready": 1, "id": id_bits, "line": LINE_NUMBER_BITS}), name="read")
        m.submodules.asked = asked = SyncFIFOBuffered(width=id_bits + LINE_NUMBER_BITS, depth=4)
        m.submodules.lines = lines = Memory(shape=8 * LINE_BYTES + 1, depth=ids, init=[])
        m.submodules.sent = sent = Memory(shape=max(1, beat_bits), depth=ids, init=[])
        write, read = lines.write_port(), lines.read_port(domain="comb")
        count, recount = sent.read_port(domain="comb"), sent.write_port()
        here, response = Signal(ids), self.port.response
        # A reset between two programs may find a burst half sent, and leaves the memory of beats as it is.
        fresh, beat = Signal(ids), Signal(max(1, beat_bits))
        arrives = response.valid & response.ready & ~response.payload.tag[id_bits]
        # Any of those that are here: the first one from a random place on.
        turn, rotated, chosen = Signal(id_bits), Signal(ids), Signal(id_bits)
        m.d.comb += [
            axi.arready.eq(asked.w_rdy & self._noise[4]), asked.w_en.eq(axi.arvalid & axi.arready),
            asked.w_data.eq(Cat(axi.arid, axi.araddr >> 6)),
            out.valid.eq(asked.r_rdy), asked.r_en.eq(out.valid & out.ready), Cat(out.id, out.line).eq(asked.r_data),
            turn.eq(self._noise[5 : 5 + id_bits]), rotated.eq(Cat(here, here) >> turn),
            chosen.eq(encode(lowest_one(rotated)) + turn),
            write.addr.eq(response.payload.tag[:id_bits]), write.en.eq(arrives),
            write.data.eq(Cat(response.payload.data, response.payload.error)),
            read.addr.eq(chosen), count.addr.eq(chosen), recount.addr.eq(chosen), recount.data.eq(beat + 1),
            beat.eq(Mux(fresh.bit_select(chosen, 1), 0, count.data)),
        ]
        offers = here.any() & (~axi.rvalid | axi.rready) & self._noise[20:22].any()
        last = (beat == beats - 1) if beats > 1 else 1
        m.d.comb += recount.en.eq(offers)
        with m.If(axi.rready):
            m.d.sync += axi.rvalid.eq(0)
        with m.If(offers):
            m.d.sync += [
                axi.rvalid.eq(1), axi.rid.eq(chosen), axi.rlast.eq(last), axi.rresp.eq(Cat(0, read.data[-1])),
                axi.rdata.eq(read.data.word_select(beat if beats > 1 else 0, self._data_bits)),
            ]
        came = Mux(arrives, one_hot(response.payload.tag[:id_bits], ids), 0)
        m.d.sync += fresh.eq((fresh & ~Mux(offers, one_hot(chosen, ids), 0)) | came)
        m.d.sync += here.eq((here & ~Mux(offers & last, one_hot(chosen, ids), 0)) | came)
        return out


class ThroughAxi(wiring.Component):
    """The ports of the SM; a broken rule of AXI is reported as the SM's first assertion."""

    def __init__(self, config: SmConfig, *, data_bits: int = 64, slots: int = 16) -> None:
        self._config = config
        self._sm = Sm(config)
        self._sizes = {"data_bits": data_bits, "reads": slots, "writes": slots}
        super().__init__(dict(self._sm.signature.members))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sm = sm = self._sm
        m.submodules.bridge = bridge = AxiMaster(self._config, **self._sizes)
        sizes = {"data_bits": bridge.data_bits, "id_bits": bridge.id_bits}
        m.submodules.rules = rules = AxiRules(**sizes)
        m.submodules.slave = slave = LineSlave(self._config, **sizes)
        rules.watch(m, bridge.axi)
        connect(m, sm.mem.req, bridge.port.request)
        connect(m, bridge.port.response, sm.mem.resp)
        connect(m, bridge.axi, slave.axi)
        connect(m, slave.port.request, flipped(self.mem.req))
        connect(m, flipped(self.mem.resp), slave.port.response)
        broken = Signal()
        m.d.sync += broken.eq(broken | rules.master.any() | rules.slave.any())
        for name, member in sm.signature.members.items():
            if member.is_port:
                outer, inner = getattr(self, name), getattr(sm, name)
                value = inner | broken if name == "assertions" else inner
                m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(value)
        return m


def text_of(config: SmConfig, **sizes: int) -> str:
    """The Verilog of a `metronome_sm` for :func:`sim.build.simulator.build`."""
    shared = SharedModules(prefix="metronome")
    with collector_paused():
        text = verilog.convert(ThroughAxi(config, **sizes), name="metronome_sm", platform=shared, emit_src=False)
        return text + shared.text
