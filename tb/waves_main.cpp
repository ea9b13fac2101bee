// The main program of a simulation that dumps its signals: cocotb's, dumping only the requested cycles.
//
// METRONOME_WAVES_FROM and METRONOME_WAVES_TO, cycles of the program; without them it dumps all, the reset included.

#include <verilated.h>
#include <verilated_vcd_c.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

// Set by the mailbox as each cycle begins.
extern int64_t mailbox_cycle;

namespace {

int64_t asked(const char* name, int64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

}  // namespace

// Not in a namespace: Verilator's header declares a class of this name, once it is VerilatedVcdC's.
class DumpOfSomeCycles : public VerilatedVcdC {
    const int64_t from = asked("METRONOME_WAVES_FROM", std::numeric_limits<int64_t>::min());
    const int64_t to = asked("METRONOME_WAVES_TO", std::numeric_limits<int64_t>::max());

public:
    void dump(uint64_t time) {
        if (from <= mailbox_cycle && mailbox_cycle <= to) VerilatedVcdC::dump(time);
    }
};

#define VerilatedVcdC DumpOfSomeCycles
#include <verilator.cpp>  // cocotb's
