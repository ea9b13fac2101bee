"""Named configurations (design.md section 1): warps x threads."""

from __future__ import annotations

from .config import SmConfig

__all__ = ["BASE", "MID", "NANO", "PAPER", "PIPELINES", "PRESETS", "TINY", "ULX3S"]

# Few warps do not fill buffers sized for many, nor our kernels 4 KiB of I-cache: MID's values save no cycle here.
TINY = SmConfig(warps=2, threads=2, icache_bytes=4096, dcache_mshrs=4, load_parts=8, store_buffer=8)
BASE = SmConfig(warps=4, threads=4, dcache_mshrs=8, load_parts=8, store_buffer=16)
MID = SmConfig(warps=8, threads=8)
#: For the board of that name (hdl.board.ulx3s): TINY with small caches. With the pipeline `classic`, its latencies are
#: those with which an ECP5 reached 39.9 MHz (docs/board.md).
ULX3S = SmConfig(
    warps=2, threads=2, dcache_mshrs=4, load_parts=8, store_buffer=8, latency_fma=6, latency_fdiv=17,
    icache_bytes=4 * 1024, dcache_bytes=4 * 1024,
)
#: The smallest that is useful, for a device of 24 000 LUTs with room for other logic: integers only, one cache.
NANO = SmConfig(
    warps=2, threads=2, fpu=False, research_counters=False, icache_bytes=2 * 1024, icache_ways=1, icache_mshrs=1,
    dcache_bytes=0, load_parts=4, store_buffer=1, local_bytes=4 * 1024,
)
#: The size of Crouzet 2024 (section VI-A2); one place per warp for a waiting load.
PAPER = SmConfig(warps=32, threads=32, load_parts=32)

PRESETS: dict[str, SmConfig] = {
    "TINY": TINY, "BASE": BASE, "MID": MID, "PAPER": PAPER, "ULX3S": ULX3S, "NANO": NANO,
}

#: Pipelines: fields that replace those of a preset. The figures of the papers are measured with ``classic``. ``fpga``
#: takes more cycles, where those of a chip would otherwise be longer (docs/fpga.md).
PIPELINES: dict[str, dict[str, int]] = {
    "classic": {},
    "fpga": {
        "issue_latency": 3, "lookup_latency": 2, "latency_fma": 8, "latency_fcvt": 6, "latency_fdiv": 19,
    },
}
