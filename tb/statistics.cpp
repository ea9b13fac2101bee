// What the simulation counts in the measured region beyond the SM's own counters (docs/counters.md, "Statistics of a
// simulation"). tb/top.sv tells what happens in a cycle; tb/statistics.py mirrors the structure and reads the sums.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "svdpi.h"

namespace {

constexpr int kWarps = 64;      // hdl.config: the most warps that there can be
constexpr int kRegisters = 64;  // integer, then floating point
constexpr int kWaits = 8;
constexpr int kBins = 64;
// A warp's cycles, by its stall reason (0: eligible, but another was selected), and those in which it has none.
constexpr int kStates = 16;
constexpr int kInstruction = 12, kNop = 13, kInactive = 14;

struct Accesses {  // to lines, of loads or of stores
    uint64_t instructions, accesses, uncached, hits, merges, forwards, misses;
};

struct Statistics {
    Accesses loads, stores;
    uint64_t waits[kWaits];
    uint64_t latency_sum, latency_maximum;
    uint64_t latencies[kBins];  // [i]: of 2^i to 2^(i+1) - 1 cycles
    uint64_t states[kWarps][kStates];
};

Statistics statistics;
int warps;
// When the load that writes a register was in stage X; the scoreboard lets no other write it meanwhile.
int64_t issued[kWarps][kRegisters];
constexpr int64_t kNone = -1;

}  // namespace

extern "C" {

__attribute__((visibility("default"))) Statistics *statistics_address() { return &statistics; }
__attribute__((visibility("default"))) uint64_t statistics_bytes() { return sizeof(Statistics); }

void statistics_launch(int number_of_warps) {
    std::memset(&statistics, 0, sizeof statistics);
    std::fill(&issued[0][0], &issued[0][0] + kWarps * kRegisters, kNone);
    warps = number_of_warps;
}

// A cycle of the region. `reasons` has 4 bits a warp; `selected` is -1 for nobody.
void statistics_warps(int64_t active, const svBitVecVal *reasons, int selected, svBit nop) {
    for (int warp = 0; warp < warps; ++warp) {
        const uint32_t reason = reasons[warp / 8] >> (4 * (warp % 8)) & 15;
        const uint32_t waits = active >> warp & 1 ? reason : kInactive;
        statistics.states[warp][warp == selected ? (nop ? kNop : kInstruction) : waits] += 1;
    }
}

// An access to a line that is decided in this cycle of the region (hdl.layouts.probe.lookup_layout).
void statistics_access(svBit store, svBit first, svBit uncached, svBit hit, svBit merge, svBit forward) {
    Accesses &accesses = store ? statistics.stores : statistics.loads;
    accesses.accesses += 1;
    accesses.instructions += first;
    accesses.uncached += uncached;
    accesses.hits += hit;
    accesses.merges += merge;
    accesses.forwards += forward;
    accesses.misses += !store && !uncached && !hit && !merge && !forward;
}

// An access waits in this cycle of the region.
void statistics_wait(int reason) { statistics.waits[reason] += 1; }

// A load that writes a register is in stage X.
void statistics_load(int64_t cycle, int warp, int rd) { issued[warp][rd] = cycle; }

// The last write of an instruction to its register. A load counts for the region in which this happens.
void statistics_write(int64_t cycle, svBit region, int warp, int rd) {
    int64_t &since = issued[warp][rd];
    if (since != kNone && region) {
        const auto latency = static_cast<uint64_t>(cycle - since);
        statistics.latency_sum += latency;
        statistics.latency_maximum = std::max(statistics.latency_maximum, latency);
        statistics.latencies[std::bit_width(latency) - 1] += 1;
    }
    since = kNone;
}

}  // extern "C"
