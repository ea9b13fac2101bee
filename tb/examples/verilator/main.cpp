// Runs one program on the exported SM: memory with a fixed latency at the bare line port, then exit code and counters.
//
// Everything that the SM sees changes while clk is 0; its outputs are read before the rising edge, which ends
// a cycle. Cycle 0 is the one in which start is high. Ports that an export may lack (straps, probe) are looked for when
// this is compiled.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "Vmetronome_sm.h"
#include "verilated.h"

namespace {

constexpr uint64_t kLineBytes = 64;
constexpr int kResetCycles = 3;
constexpr const char *kNoImage = " is not an image of metronome build --image";

using Line = std::array<uint8_t, kLineBytes>;

[[noreturn]] void fail(const std::string &what) {
    std::cerr << "error: " << what << "\n";
    std::exit(2);
}

uint64_t number(const std::string &text) {
    size_t used = 0;
    try {
        const uint64_t value = std::stoull(text, &used, 0);
        if (used == text.size()) return value;
    } catch (const std::exception &) {
    }
    fail("'" + text + "' is no number");
}

template <class Port>
void set(Port &port, uint64_t value) {
    port = static_cast<Port>(value);
}

// An image of `metronome build --image`.
struct Image {
    uint32_t entry = 0, argument = 0, exit_code = 0, console = 0;
    uint64_t console_bytes = 0, first = 0, end = 0;
    std::map<uint32_t, Line> lines;  // by line number; the others are 0

    explicit Image(const char *name) {
        std::ifstream file(name);
        if (!file) fail(std::string("cannot read ") + name);
        uint64_t word_address = 0;
        for (std::string row; std::getline(file, row);) {
            std::istringstream words(row);
            std::string word;
            words >> word;
            if (word == "//") {
                read_fact(words);
                continue;
            }
            for (; !word.empty(); word.clear(), words >> word) {
                const bool is_address = word[0] == '@';
                size_t used = 0;
                uint64_t value = 0;
                try {
                    value = std::stoull(word.substr(is_address), &used, 16);
                } catch (const std::exception &) {
                }
                if (used + is_address != word.size()) fail(std::string(name) + kNoImage);
                if (is_address) word_address = value;
                else store_word(4 * word_address++, static_cast<uint32_t>(value));
            }
        }
        if (end == 0) fail(std::string(name) + kNoImage);
    }

    void store_word(uint64_t address, uint32_t value) {
        Line &line = lines[static_cast<uint32_t>(address / kLineBytes)];
        std::memcpy(&line[address % kLineBytes], &value, 4);
    }

    uint32_t word(uint64_t address) const {
        uint32_t value = 0;
        const auto found = lines.find(static_cast<uint32_t>(address / kLineBytes));
        if (found != lines.end()) std::memcpy(&value, &found->second[address % kLineBytes], 4);
        return value;
    }

    void write(const std::string &name) const {
        std::FILE *file = std::fopen(name.c_str(), "w");
        if (!file) fail("cannot write " + name);
        for (const auto &[number, line] : lines) {
            std::fprintf(file, "@%08x", number * static_cast<uint32_t>(kLineBytes / 4));
            for (uint64_t place = 0; place < kLineBytes; place += 4)
                std::fprintf(file, "%c%08x", place ? ' ' : '\n', word(number * kLineBytes + place));
            std::fputc('\n', file);
        }
        if (std::fclose(file) != 0) fail("cannot write " + name);
    }

private:
    void read_fact(std::istringstream &words) {
        std::string what, value, more;
        words >> what >> value >> more;
        if (what == "entry") entry = static_cast<uint32_t>(number(value));
        if (what == "argument") argument = static_cast<uint32_t>(number(value));
        if (what == "exit_code") exit_code = static_cast<uint32_t>(number(value));
        if (what == "memory") first = number(value), end = number(more);
        if (what == "console") console = static_cast<uint32_t>(number(value)), console_bytes = number(more);
    }
};

// The bytes stored to the console, a line for each address, on standard error.
class Console {
public:
    void put(uint64_t slot, char character) {
        text_[slot] += character;
        if (character == '\n') std::cerr << text_[slot], text_[slot].clear();
    }
    ~Console() {
        for (const auto &[slot, text] : text_)
            if (!text.empty()) std::cerr << text << "\n";
    }

private:
    std::map<uint64_t, std::string> text_;
};

// Memory that takes a request in every cycle and answers each after the same number of cycles.
class Memory {
public:
    Memory(Image &image, uint64_t latency) : image_(image), latency_(latency) {}

    // While clk is 0: the next answer, if one is due. It stays until it is taken.
    void drive(Vmetronome_sm &top, uint64_t cycle) {
        top.mem_req_ready = 1;
        if (presented_) return;
        top.mem_resp_valid = !waiting_.empty() && waiting_.front().due <= cycle;
        if (!top.mem_resp_valid) return;
        const Request request = waiting_.front();
        waiting_.pop_front();
        presented_ = true;
        Line data{};
        set(top.mem_resp_tag, request.tag);
        top.mem_resp_error = !carry_out(request, data);
        std::memcpy(&top.mem_resp_data[0], data.data(), kLineBytes);
    }

    // Before the rising edge: the transfers.
    void take(Vmetronome_sm &top, uint64_t cycle) {
        if (top.mem_resp_valid && top.mem_resp_ready) presented_ = false;
        if (!top.mem_req_valid || !top.mem_req_ready) return;
        Request request{cycle + latency_, top.mem_req_line, top.mem_req_tag, top.mem_req_byte_mask, !!top.mem_req_write, {}};
        std::memcpy(request.data.data(), &top.mem_req_data[0], kLineBytes);
        waiting_.push_back(request);
    }

private:
    struct Request {
        uint64_t due;
        uint32_t line, tag;
        uint64_t byte_mask;
        bool write;
        Line data;
    };

    bool carry_out(const Request &request, Line &data) {
        const uint64_t address = request.line * kLineBytes;
        if (address < image_.first || address + kLineBytes > image_.end) return false;
        if (!request.write) {
            const auto found = image_.lines.find(request.line);
            if (found != image_.lines.end()) data = found->second;
            return true;
        }
        Line &line = image_.lines[request.line];
        for (uint64_t byte = 0; byte < kLineBytes; ++byte) {
            if (!(request.byte_mask >> byte & 1)) continue;
            line[byte] = request.data[byte];
            const uint64_t slot = address + byte - image_.console;
            if (slot < image_.console_bytes) console_.put(slot, static_cast<char>(line[byte]));
        }
        return true;
    }

    Image &image_;
    const uint64_t latency_;
    std::deque<Request> waiting_;
    bool presented_ = false;
    Console console_;
};

template <class Top>
void set_straps(Top &top, uint64_t policy, uint64_t fetch_policy) {
    if constexpr (requires { top.policy; }) set(top.policy, policy);
    else if (policy) fail("--policy: this export has one policy");
    if constexpr (requires { top.fetch_policy; }) set(top.fetch_policy, fetch_policy);
    else if (fetch_policy) fail("--fetch-policy: this export has no such strap");
}

template <class Top>
void trace_issue(const Top &top, std::FILE *file, uint64_t cycle) {
    if constexpr (requires { top.probe_issue_valid; }) {
        if (top.probe_issue_valid)
            std::fprintf(
                file, "%llu %u %08x %08x %x\n", static_cast<unsigned long long>(cycle), top.probe_issue_warp,
                top.probe_issue_pc, top.probe_issue_instruction, top.probe_issue_mask);
    } else {
        fail("--trace needs an export with --probe (make MODULE=metronome_sm_sim)");
    }
}

template <class Top>
uint64_t assertions(const Top &top) {
    if constexpr (requires { top.assertions; }) return top.assertions;
    return 0;
}

struct Options {
    std::string image, dump, trace;
    uint64_t latency = 20, policy = 0, fetch_policy = 0, max_cycles = 10'000'000;

    Options(int count, char **words) {
        for (int place = 1; place < count; ++place) {
            const std::string word = words[place];
            const bool has_value = place + 1 < count;
            if (word.rfind("--", 0) != 0) image = word;
            else if (!has_value) fail(word + " needs a value");
            else if (word == "--dump") dump = words[++place];
            else if (word == "--trace") trace = words[++place];
            else if (word == "--latency") latency = number(words[++place]);
            else if (word == "--policy") policy = number(words[++place]);
            else if (word == "--fetch-policy") fetch_policy = number(words[++place]);
            else if (word == "--max-cycles") max_cycles = number(words[++place]);
            else fail("there is no option " + word);
        }
        if (image.empty())
            fail("usage: IMAGE [--latency CYCLES] [--policy N] [--fetch-policy N] [--max-cycles N] [--dump FILE] [--trace FILE]");
        if (latency < 1) fail("--latency must be at least 1");
    }
};

void print(const char *name, uint64_t value) { std::cout << name << " " << value << "\n"; }

}  // namespace

int main(int count, char **words) {
    const Options options(count, words);
    Image image(options.image.c_str());
    std::FILE *trace = options.trace.empty() ? nullptr : std::fopen(options.trace.c_str(), "w");
    if (!options.trace.empty() && !trace) fail("cannot write " + options.trace);

    VerilatedContext context;
    Vmetronome_sm top(&context);
    Memory memory(image, options.latency);
    set_straps(top, options.policy, options.fetch_policy);
    top.start_pc = image.entry;
    top.arg = image.argument;
    top.rst = 1;
    for (int cycle = 0; cycle < kResetCycles; ++cycle) {
        top.clk = 0, top.eval();
        top.clk = 1, top.eval();
    }
    top.rst = 0;
    uint64_t cycle = 0;
    for (;; ++cycle) {
        top.clk = 0;
        top.start = cycle == 0;
        memory.drive(top, cycle);
        top.eval();
        memory.take(top, cycle);
        if (trace) trace_issue(top, trace, cycle);
        if ((cycle > 0 && !top.busy) || assertions(top) || cycle >= options.max_cycles) break;
        top.clk = 1;
        top.eval();
    }
    if (trace && std::fclose(trace) != 0) fail("cannot write " + options.trace);
    if (!options.dump.empty()) image.write(options.dump);

    const uint32_t exit_code = image.word(image.exit_code);
    print("exit_code", exit_code);
    print("total_cycles", cycle);
#define COUNTER(name) print(#name, top.name);
// The value follows the index without a clock.
#define INDEXED(name, index) top.counter_index = index, top.eval(), print(#name, top.counter_value);
#include "counters.inc"
    if (assertions(top)) {
        std::cerr << "assertions of the hardware failed: " << std::hex << assertions(top) << "\n";
        return 1;
    }
    if (top.fault_valid) {
        std::cerr << "fault " << +top.fault_cause << " of warp " << +top.fault_warp << std::hex << ", pc " << top.fault_pc
                  << ", address " << top.fault_address << "\n";
        return 3;
    }
    if (top.busy) {
        std::cerr << "not ended after " << cycle << " cycles\n";
        return 4;
    }
    return exit_code != 0;
}
