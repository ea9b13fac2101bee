"""The configuration of one streaming multiprocessor (SM), checked and derived once.

Every unit, model and tool takes its sizes and latencies from one frozen :class:`SmConfig`, so that the
hardware and the golden model cannot disagree about them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from . import config_checks as checks
from .config_names import Channels, Coordination, FaultCause, Prediction, Turns, Units
from .config_requirements import require_machine
from .described import setting
from .memory_map import DEFAULT_MAP, MemoryMap

__all__ = ["LINE_BYTES", "LINE_NUMBER_BITS", "LINE_OFFSET_BITS", "LIST_SLOT_BITS", "WATCHING", "Channels",
           "Coordination", "FaultCause", "MemoryMap", "Prediction", "SmConfig", "Turns", "Units"]

#: A line: the unit of requests to memory and of the caches.
LINE_BYTES = 64

#: Bits of a byte's place in its line, and of a line's number: a byte address is Cat(place, number).
LINE_OFFSET_BITS = LINE_BYTES.bit_length() - 1
LINE_NUMBER_BITS = 32 - LINE_OFFSET_BITS

#: Bits of the number of a line that is read ahead of a list of accesses (hdl.memory.order.reader).
LIST_SLOT_BITS = 4

#: Fields that select parts that only a simulation needs.
WATCHING = ("probe", "assertions", "oracles", "all_counters")


@dataclass(frozen=True, kw_only=True)
class SmConfig:
    """Sizes, policies and latencies of one SM.

    ``metronome config`` shows the meaning and the unit of each field.

    Raises
    ------
    ValueError
        At construction, naming the field, the allowed values and the value given.
    """

    warps: int = setting(4, "of the SM: 1 to 64", unit="warps")
    threads: int = setting(4, "of a warp: a power of two up to 32", unit="lanes")
    schedulers: int = setting(
        1,
        "1, 2 or 4: partitions, each with a front end, a scoreboard and registers of its own. Warp w belongs to "
        "partition w mod schedulers.",
    )
    units: Units = setting(
        Units.SLICES, "of partitions: slices, each has arithmetic units and a writeback port; shared, all use one set",
    )
    turns: Turns = setting(
        Turns.ALTERNATE, "who may use what partitions share: alternate, each in turn; older, who has waited longest",
    )
    alu_ports: int = setting(0, "with units=shared: 1, 2 or 4, at most schedulers; 0: the lesser of 2 and schedulers")
    writeback_ports: int = setting(0, "with units=shared: likewise 1, 2 or 4; 0: the lesser of 2 and schedulers")
    policies: tuple[str, ...] = setting(
        ("lrr", "gtlrr", "gtlo"),
        "Warp policies in this build; in baseline and vortex those of issue. With more than one, the strap policy "
        "selects by position.",
    )
    fetch_policies: tuple[str, ...] = setting(
        (), "Policies of the fetch scheduler of baseline and vortex (strap fetch_policy); swas has none.",
    )
    group_warps: int = setting(
        0,
        "of a group of two_level: a divisor of warps; 0: the smallest one whose square is at least warps.",
        unit="warps",
    )
    rates: tuple[int, ...] = setting(
        (),
        "of each warp in a frame of variable_rate and variable_rate_strict; the last number holds for all remaining "
        "warps. Without any, every second slot is warp 0's.", unit="slots",
    )
    locality_base: int = setting(100, "the least score of a warp in ccws: 1 to 1000", unit="points")
    locality_throttle: int = setting(8, "how much a loss of locality counts in ccws: 1 to 64")
    victim_tags: int = setting(
        16, "of a warp that have left the data cache and are remembered for ccws: 1 to 64", unit="lines",
    )
    policy_csr: bool = setting(
        False,
        'Let programs change the parameters of the policies by the CSR mpolicy (docs/policies.md, "Changing them"). '
        "The fields above, except victim_tags, then set the values after reset and the sizes of the registers.",
    )
    coordination: Coordination = setting(Coordination.SWAS, "the scheme: swas, baseline or vortex")
    prediction: Prediction = setting(Prediction.BTFN, "where fetch continues after a branch")
    return_stack: int = setting(
        2, "of a warp with prediction=private that are remembered: 0, or a power of two up to 16",
        unit="return addresses",
    )
    jump_targets: int = setting(
        2, "of other indirect jumps of a warp with prediction=private: 0, or a power of two up to 16", unit="targets",
    )
    branch_runs: int = setting(
        2,
        "of a warp with prediction=private whose runs of equal outcomes are counted: 0, or a power of two from 2 to 16",
        unit="branches",
    )
    two_bit: int = setting(
        0, "of a warp with prediction=private, each of two bits: 0, or a power of two up to 64", unit="counters",
    )

    # Front end (design.md section 3).
    fetch_latency: int = setting(
        3, "from a request to the instruction word, if it hits; only 3 is built", unit="cycles",
    )
    icache_bytes: int = setting(
        16 * 1024,
        "0: no I-cache; every warp keeps the line that it fetched last, and asks memory for each other one.",
        unit="bytes",
    )
    icache_ways: int = setting(4, "of a set: a power of two", unit="lines")
    icache_mshrs: int = setting(
        4,
        "that the I-cache may have requested and not received; without one each warp has a request of its own.",
        unit="lines",
    )

    fpu: bool = setting(
        True, "The FPU, its registers and fcsr. Without it, the instructions of F are illegal (docs/isa.md).",
    )
    # The back end (design.md section 4).
    issue_latency: int = setting(
        2, "from an instruction's selection to stage X; 3: with a register between register file and units",
        unit="cycles",
    )
    # Latency of each unit.
    latency_alu: int = setting(1, "integer arithmetic, branches and jumps; only 1 is built", unit="cycles")
    latency_mul: int = setting(4, "multiplications", unit="cycles")
    latency_div: int = setting(34, "divisions; not pipelined", unit="cycles")
    latency_csr: int = setting(1, "CSR accesses; only 1 is built", unit="cycles")
    latency_simt: int = setting(1, "tmc, split, join, ...; only 1 is built", unit="cycles")
    latency_fma: int = setting(4, "floating-point additions and multiplications, fused or not", unit="cycles")
    latency_fcvt: int = setting(5, "conversions", unit="cycles")
    latency_fdiv: int = setting(16, "floating-point divisions and square roots; not pipelined", unit="cycles")
    latency_fmisc: int = setting(2, "moves, signs, comparisons, minimum and maximum, classes", unit="cycles")

    # Memory.
    line_bytes: int = setting(LINE_BYTES, "of a line; only this size is built", unit="bytes")
    local_bytes: int = setting(16 * 1024, "the scratchpad: a power of two", unit="bytes")
    dcache_bytes: int = setting(
        16 * 1024,
        "Data cache: write-through, no allocation on write. 0: none, every line of a load is a request.", unit="bytes",
    )
    dcache_ways: int = setting(4, "of a set: a power of two", unit="lines")
    dcache_mshrs: int = setting(
        16, "that the data cache may have requested and not received; loads of one line share one.", unit="lines",
    )
    store_buffer: int = setting(32, "with stores that memory has not completed.", unit="lines")
    load_parts: int = setting(
        16, "of loads (a part: the lanes of one load in one line) that may wait for memory.", unit="parts",
    )
    lookup_latency: int = setting(
        1,
        "from the choice of a line access's lanes to its lookup: 1 or 2. With 2, which suits an FPGA, three more steps "
        "take a cycle longer (docs/memory.md, \"Two cycles to the lookup\").", unit="cycles",
    )
    channels: Channels = setting(
        Channels.NONE, "queues before the data cache: none, or for each warp a free or ordered one",
    )
    channel_depth: int = setting(
        10,
        "of a warp that its channel holds: 1 to 16; ordered: threads to 32; without channels it means nothing.",
        unit="accesses",
    )
    memory_map: MemoryMap = setting(DEFAULT_MAP, "the addresses that software relies on")
    interleave_stacks: bool = setting(
        True, "Put the same word of the stacks of a warp's lanes side by side in memory (docs/memory.md, \"Stacks\").",
    )

    core_id: int = setting(0, "for the CSRs that number harts")
    cores: int = setting(1, "for the CSR that holds their number")

    check_divergent_branch: bool = setting(
        True, 'Report a branch whose active lanes disagree as a fault (isa.md, "Branches and jumps").',
    )
    oracles: bool = setting(
        True, "The two oracle schedulers (Crouzet 2024, section VI-A4); without them their counters stay 0.",
    )
    research_counters: bool = setting(
        True,
        "The counters of docs/counters.md. Without them only total_cycles, mcycle and minstret remain: the CSRs of the "
        "others read 0, and reports show none of them.",
    )
    all_counters: bool = setting(
        True,
        "A port with all counters at once, in flip-flops. Without it they are in a memory, which takes a fraction of "
        "the area, and the port shows one at a time.",
    )
    probe: bool = setting(True, "The probe port; without it the SM has only its memory port, straps, busy and fault.")
    assertions: bool = setting(True, 'Hardware assertions ("may never happen"), watched by the testbench.')

    def __post_init__(self) -> None:
        require_machine(self, line_bytes=LINE_BYTES)

    def for_chip(self, **changes: object) -> SmConfig:
        """The same configuration without simulation-only fields (:data:`WATCHING`), with ``changes`` of others."""
        return replace(self, **dict.fromkeys(WATCHING, False) | changes)  # type: ignore[arg-type]  # any field's

    # Derived sizes.

    @property
    def ordered(self) -> bool:
        """Whether accesses can be looked up in the order of a list."""
        return self.channels is Channels.ORDERED

    @property
    def registers(self) -> int:
        """Registers of a warp: 32 integer ones, and 32 of the FPU if there is one."""
        return 64 if self.fpu else 32

    @property
    def buffer_depth(self) -> int:
        """Instruction-buffer slots per warp: d = t_F + 1 (Crouzet 2024, section IV-B1)."""
        return self.fetch_latency + 1

    @property
    def follows(self) -> bool:
        """Whether decode follows jumps and branches that are predicted taken."""
        return self.prediction is not Prediction.NOT_TAKEN

    @property
    def learns(self) -> bool:
        """Whether a warp's predictions depend on what it has executed."""
        return self.prediction is Prediction.PRIVATE

    @property
    def operand_register(self) -> bool:
        """Whether there is a register between the register file and the units."""
        return self.issue_latency > 2

    @property
    def resolve_latency(self) -> int:
        """R: cycles from the selection of a branch or SIMT instruction to its redirect (design.md section 3)."""
        return self.issue_latency + 1

    @property
    def partition(self) -> SmConfig:
        """The configuration of each partition: of the machine itself if it has one scheduler."""
        if self.schedulers == 1:
            return self
        # With fixed turns, one rounder gives its results to each partition in the turns of this partition.
        turns = self.schedulers if self.divides_time else 1
        fcvt, fdiv = (its + (self.latency_fma - its) % turns for its in (self.latency_fcvt, self.latency_fdiv))
        # Its stacks are where those of the whole SM are.
        return replace(
            self, schedulers=1, warps=self.warps // self.schedulers, cores=self.cores * self.schedulers, core_id=0,
            alu_ports=0, writeback_ports=0, latency_fcvt=fcvt, latency_fdiv=fdiv,
        )

    @property
    def divides_time(self) -> bool:
        """Whether units and ports belong to a partition in fixed cycles: with one set of units and fixed turns."""
        return self.schedulers > 1 and self.units is Units.SHARED and self.turns is Turns.ALTERNATE

    @property
    def warp_bits(self) -> int:
        """Bits of a warp number; at least 1, so that a one-warp SM keeps the same layouts."""
        return max(1, (self.warps - 1).bit_length())

    @property
    def two_level_group(self) -> int:
        """Warps in a group of two_level."""
        return checks.warps_of_a_group(self.warps, self.group_warps)

    @property
    def slot_rates(self) -> tuple[int, ...]:
        """The rate of each warp in variable_rate: its slots in a frame."""
        return checks.rate_of_each(self.warps, self.rates)

    @property
    def watches_locality(self) -> bool:
        """Whether a policy of the build watches for lost lines of the data cache, which takes victim tags."""
        return "ccws" in (*self.policies, *self.fetch_policies)

    @property
    def barriers(self) -> int:
        """Barriers: max(1, warps / 2) rounded up to a power of two, so that an id is its low bits (isa.md, bar)."""
        return 1 << (max(1, self.warps // 2) - 1).bit_length()

    @property
    def stack_depth(self) -> int:
        """Divergence-stack entries per warp: max(1, threads - 1) (isa.md)."""
        return max(1, self.threads - 1)

    @property
    def harts(self) -> int:
        """Threads of the SM."""
        return self.warps * self.threads

    @property
    def interleaved_stacks(self) -> range:
        """The addresses that are permuted: the stacks of all cores' harts; none when nothing is interleaved."""
        top = self.memory_map.stack_top
        size = self.memory_map.stack_bytes_per_hart * self.harts * self.cores
        return range(top - size, top) if self.interleave_stacks and self.threads > 1 else range(0)

    @property
    def stack_pointer_bits(self) -> int:
        """Bits of a divergence-stack pointer, which counts from 0 to :attr:`stack_depth`."""
        return self.stack_depth.bit_length()

    @property
    def fetch_requests(self) -> int:
        """Lines that fetches may have requested and not received: without an I-cache, one for each warp."""
        return self.icache_mshrs if self.icache_bytes else self.warps

    @property
    def dcache_set_bits(self) -> int:
        """Bits of the number of a set of the data cache; 0 without one."""
        return (self.dcache_bytes // self.line_bytes // self.dcache_ways - 1).bit_length() if self.dcache_bytes else 0

    @property
    def line_requests(self) -> int:
        """Lines that loads may have requested and not received: without a data cache, one for each waiting part."""
        return self.dcache_mshrs if self.dcache_bytes else self.load_parts

    @property
    def icache_tag_bits(self) -> int:
        """Bits of the I-cache's own tag: the number of its MSHR, at least 1, above that of its partition."""
        own = max(1, (self.partition.fetch_requests - 1).bit_length())
        return own + (self.schedulers - 1).bit_length()

    @property
    def l1_tag_bits(self) -> int:
        """Bits of the L1's own tag: one for the kind (0 load, 1 store) above the number of the request.

        With ordered channels it is wide enough for the list's lines, whose tags have as many.
        """
        own = 1 + max(1, (max(self.line_requests, self.store_buffer) - 1).bit_length())
        return max(own, LIST_SLOT_BITS) if self.ordered else own

    @property
    def lsu_tag_bits(self) -> int:
        """Bits of the LSU's own tag: the L1's, and ordered one above it for the source (0 L1, 1 the list)."""
        return self.l1_tag_bits + self.ordered

    @property
    def mem_tag_bits(self) -> int:
        """Bits of a memory-port tag: one for the source (0 I-cache, 1 LSU) above the source's own tag."""
        return 1 + max(self.icache_tag_bits, self.lsu_tag_bits)

    @property
    def words_per_line(self) -> int:
        """32-bit words in one memory line."""
        return self.line_bytes // 4
