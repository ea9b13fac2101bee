// The mailbox between the simulated SM (tb/top.sv, over DPI) and Python (tb/mailbox.py, over shared memory).
//
// Everything wide crosses here as plain memory, so that Python neither reads nor writes signals; the one signal it
// watches is top.wake. tb/mailbox.py mirrors these structures and compares mailbox_bytes() with its own size.

#include <chrono>
#include <cstdint>
#include <cstring>

#include "svdpi.h"

// The cycle that is simulated, for tb/waves_main.cpp.
int64_t mailbox_cycle = INT64_MIN;

namespace {

constexpr uint64_t kRing = 256;  // requests and responses in flight: above the largest number of memory tags
constexpr int kStatusWords = 512;
constexpr int kLineBytes = 64;  // hdl.config

struct Request {
    uint64_t cycle;  // the cycle in which the SM's request was accepted
    uint64_t byte_mask;
    uint32_t line, tag, write, unused;
    uint8_t data[kLineBytes];
};

struct Response {
    uint64_t due;  // the first cycle in which it may be presented
    uint32_t tag, error;
    uint8_t data[kLineBytes];
};

struct Mailbox {
    // Written by Python.
    uint64_t launch;  // 1: reset the SM and start a program; cleared when taken
    uint64_t start_pc, arg, policy, fetch_policy, max_cycles;
    uint64_t tail;             // cycles that the SM stays idle before its program counts as ended
    uint64_t record_level;     // 0 no records, 1 cycles with an issue, writeback or store, 2 every cycle
    uint64_t lookahead;        // a request may wait this long for Python; from the memory model
    uint64_t wake_cycle;       // wake Python at the end of this cycle at the latest
    uint64_t ready_from;       // the first cycle in which memory accepts another request
    uint64_t records;          // address of Python's record buffer
    uint64_t record_capacity;  // in records of record_words
    uint64_t record_words;     // 32-bit words a record: two of the cycle, then the probe and the memory port
    uint64_t request_taken;    // requests that Python has read
    uint64_t response_given;   // responses that Python has written, in the order in which they are presented
    // Written by the simulation.
    uint64_t cycle;  // the cycle that has just ended; cycle 0 is the one in which start is high
    uint64_t finished;
    uint64_t record_count;  // reset to 0 by Python
    uint64_t request_given;
    uint64_t response_taken;
    // Nanoseconds from the end of a cycle to the next, summed: over those in which Python was woken, and over samples
    // of the others, which show the simulation's share of the former. Reset to 0 by Python.
    uint64_t wakes, wake_ns, samples, sample_ns;
    uint32_t status[kStatusWords];
    Request requests[kRing];
    Response responses[kRing];
};

constexpr uint64_t kSampleEvery = 256;  // cycles: the clock is not free

Mailbox box;

uint64_t nanoseconds() {
    return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

// When a cycle ended from which the time to the next is measured; 0: it is not.
uint64_t measured_from = 0;
bool measures_wake = false;

bool wake_after(uint64_t now) {
    if (box.finished || now >= box.wake_cycle) return true;
    if (box.record_level != 0 && box.record_count >= box.record_capacity) return true;
    const uint64_t unread = box.request_given - box.request_taken;
    if (unread == 0) return false;
    return unread >= kRing || now - box.requests[box.request_taken % kRing].cycle + 1 >= box.lookahead;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) Mailbox *mailbox_address() { return &box; }
__attribute__((visibility("default"))) uint64_t mailbox_bytes() { return sizeof(Mailbox); }

// Whether a program is to be launched.
svBit mailbox_launch(
    int *start_pc, int *arg, int *policy, int *fetch_policy, int64_t *max_cycles, int64_t *tail, int *record_level) {
    if (!box.launch) return 0;
    box.launch = 0;
    box.finished = 0;
    measured_from = 0;
    *start_pc = static_cast<int>(box.start_pc);
    *arg = static_cast<int>(box.arg);
    *policy = static_cast<int>(box.policy);
    *fetch_policy = static_cast<int>(box.fetch_policy);
    *max_cycles = static_cast<int64_t>(box.max_cycles);
    *tail = static_cast<int64_t>(box.tail);
    *record_level = static_cast<int>(box.record_level);
    return 1;
}

// The actions of memory in this cycle: bit 0 it accepts a request, bit 1 a response is due.
int mailbox_drive(int64_t cycle) {
    const auto now = static_cast<uint64_t>(cycle);
    mailbox_cycle = cycle;
    if (measured_from != 0) {
        const uint64_t passed = nanoseconds() - measured_from;
        (measures_wake ? box.wakes : box.samples) += 1;
        (measures_wake ? box.wake_ns : box.sample_ns) += passed;
        measured_from = 0;
    }
    const bool ready = now >= box.ready_from && box.request_given - box.request_taken < kRing;
    const bool due = box.response_given != box.response_taken && box.responses[box.response_taken % kRing].due <= now;
    return (ready ? 1 : 0) | (due ? 2 : 0);
}

void mailbox_response(int *tag, svBit *error, svBitVecVal *data) {
    const Response &response = box.responses[box.response_taken++ % kRing];
    *tag = static_cast<int>(response.tag);
    *error = response.error != 0;
    std::memcpy(data, response.data, sizeof response.data);
}

void mailbox_request(int64_t cycle, int line, int tag, svBit write, int64_t byte_mask, const svBitVecVal *data) {
    Request &request = box.requests[box.request_given++ % kRing];
    request.cycle = static_cast<uint64_t>(cycle);
    request.byte_mask = static_cast<uint64_t>(byte_mask);
    request.line = static_cast<uint32_t>(line);
    request.tag = static_cast<uint32_t>(tag);
    request.write = write;
    std::memcpy(request.data, data, sizeof request.data);
}

void mailbox_record(int64_t cycle, const svBitVecVal *content) {
    auto *record = reinterpret_cast<uint32_t *>(box.records) + box.record_count++ * box.record_words;
    record[0] = static_cast<uint32_t>(cycle);
    record[1] = static_cast<uint32_t>(static_cast<uint64_t>(cycle) >> 32);
    std::memcpy(record + 2, content, (box.record_words - 2) * 4);
}

void mailbox_finish(const svBitVecVal *status, int words) {
    std::memcpy(box.status, status, static_cast<size_t>(words) * 4);
    box.finished = 1;
}

// Ends a cycle; whether Python has something to do before the next.
svBit mailbox_end_cycle(int64_t cycle) {
    const auto now = static_cast<uint64_t>(cycle);
    box.cycle = now;
    measures_wake = wake_after(now);
    measured_from = measures_wake || now % kSampleEvery == 0 ? nanoseconds() : 0;
    return measures_wake;
}

}  // extern "C"
