// Runs the SoC of soc.py: clock and reset, and a line for each word that its host reads at the end, address and value.

#include <cstdint>
#include <cstdio>

#include "Vsoc.h"
#include "verilated.h"

int main() {
    constexpr long kResetCycles = 4, kMaxCycles = 5'000'000;
    VerilatedContext context;
    Vsoc top(&context);
    long cycle = 0;
    for (; cycle < kMaxCycles && !top.done; ++cycle) {
        top.sys_rst = cycle < kResetCycles;
        top.sys_clk = 0, top.eval();
        if (top.read_valid) std::printf("%08x %08x\n", top.read_address, top.read_data);
        top.sys_clk = 1, top.eval();
    }
    std::fprintf(stderr, "%ld cycles\n", cycle);
    if (!top.done) std::fprintf(stderr, "not ended\n");
    top.final();
    return top.done ? 0 : 4;
}
