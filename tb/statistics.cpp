// Counts of the simulation in the measured region, beyond the SM's own counters (docs/counters.md, "Statistics of a
// simulation"). tb/top.sv passes the events of a cycle; tb/statistics.py mirrors the structure and reads the sums.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "svdpi.h"

namespace {

// The room that there is. How many of each this simulation has is in layout.svh and comes with the launch.
constexpr int kWarps = 64;
constexpr int kRegisters = 64;  // integer, then floating point
constexpr int kWaits = 16;
constexpr int kBins = 64;
constexpr int kStates = 32;

// Counts of accesses to lines, by the names of sim.machine.statistics.LineAccesses.
#define ACCESSES(FIELD) \
    FIELD(instructions) FIELD(accesses) FIELD(uncached) FIELD(hits) FIELD(merges) FIELD(forwards) FIELD(misses)

struct Accesses {
#define FIELD(name) uint64_t name;
    ACCESSES(FIELD)
#undef FIELD
};

#define FIELD(name) #name " "
constexpr char kAccessFields[] = ACCESSES(FIELD);
#undef FIELD

// A warp's cycles by its stall reason (0: eligible, but another was selected); after the reasons, those in which it
// has none: it issues an instruction, it issues a NOP, it is inactive.
struct Numbers {
    uint64_t warps, reasons, lookup_waits;
    uint64_t instruction() const { return reasons; }
    uint64_t nop() const { return reasons + 1; }
    uint64_t inactive() const { return reasons + 2; }
};

struct Statistics {
    Numbers numbers;
    Accesses loads, stores;
    uint64_t waits[kWaits];
    uint64_t latency_sum, latency_maximum;
    uint64_t latencies[kBins];  // [i]: of 2^i to 2^(i+1) - 1 cycles
    uint64_t states[kWarps][kStates];
};

Statistics statistics;
int reason_bits;
// When the load that writes a register was in stage X; the scoreboard lets no other write it meanwhile.
int64_t issued[kWarps][kRegisters];
constexpr int64_t kNone = -1;

// Bits `position` and up of `words`; `width` is at most 32.
uint32_t field(const svBitVecVal *words, int position, int width) {
    const int word = position / 32, shift = position % 32;
    uint64_t bits = words[word] >> shift;
    if (shift + width > 32) bits |= static_cast<uint64_t>(words[word + 1]) << (32 - shift);
    return static_cast<uint32_t>(bits & ((uint64_t{1} << width) - 1));
}

void require_room(const char *what, int needed, int room) {
    if (needed <= room) return;
    std::fprintf(stderr, "tb/statistics.cpp has room for %d %s, not for %d\n", room, what, needed);
    std::abort();
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) Statistics *statistics_address() { return &statistics; }
__attribute__((visibility("default"))) uint64_t statistics_bytes() { return sizeof(Statistics); }
__attribute__((visibility("default"))) const char *statistics_access_fields() { return kAccessFields; }

// The numbers of warps, of stall reasons (0 is none) and the bits of one, of reasons why an access waits (0 is none).
void statistics_launch(int warps, int reasons, int bits_of_reason, int lookup_waits) {
    std::memset(&statistics, 0, sizeof statistics);
    std::fill(&issued[0][0], &issued[0][0] + kWarps * kRegisters, kNone);
    require_room("warps", warps, kWarps);
    require_room("stall reasons", reasons, kStates - 3);
    require_room("reasons of a waiting access", lookup_waits, kWaits);
    statistics.numbers = {
        static_cast<uint64_t>(warps), static_cast<uint64_t>(reasons), static_cast<uint64_t>(lookup_waits)};
    reason_bits = bits_of_reason;
}

// A cycle of the region. `reasons` has `reason_bits` a warp; `instructions` and `nops` are the warps that issue them.
void statistics_warps(int64_t active, const svBitVecVal *reasons, int64_t instructions, int64_t nops) {
    const Numbers &numbers = statistics.numbers;
    for (int warp = 0; warp < static_cast<int>(numbers.warps); ++warp) {
        const uint64_t reason = field(reasons, warp * reason_bits, reason_bits);
        const uint64_t waits = active >> warp & 1 ? reason : numbers.inactive();
        const uint64_t state = instructions >> warp & 1 ? numbers.instruction() : nops >> warp & 1 ? numbers.nop() : waits;
        statistics.states[warp][state] += 1;
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
