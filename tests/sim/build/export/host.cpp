// A host on the Wishbone bus of an exported SM that uses the exported C driver: ./host IMAGE. Every line that it prints is
// a name and a value; the lines of the console begin with "console".

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include "Vmetronome_sm.h"
#include "metronome_sm.h"
#include "verilated.h"

namespace {

constexpr uintptr_t kBase = 0x9000'0000;
std::map<uint32_t, uint32_t> memory;  // by word address
Vmetronome_sm *top;

// One cycle; the memory answers each word at once, and there is none below 0x40.
void tick() {
    top->clk = 0;
    const bool asked = top->m_wb_cyc && top->m_wb_stb;
    const bool exists = top->m_wb_adr >= 0x10;
    top->m_wb_ack = asked && exists, top->m_wb_err = asked && !exists;
    top->m_wb_dat_r = asked ? memory[top->m_wb_adr] : 0xdeadbeef;
    if (asked && exists && top->m_wb_we)
        for (int byte = 0; byte < 4; ++byte)
            if (top->m_wb_sel >> byte & 1) {
                uint32_t &word = memory[top->m_wb_adr];
                word = (word & ~(0xffu << 8 * byte)) | (top->m_wb_dat_w & 0xffu << 8 * byte);
            }
    top->eval();
    top->clk = 1;
    top->eval();
}

uint32_t access(uintptr_t address, bool write, uint32_t value) {
    if (address < kBase || address >= kBase + 0x400) std::fprintf(stderr, "no register\n"), std::exit(2);
    top->s_wb_adr = (address - kBase) / 4, top->s_wb_we = write, top->s_wb_dat_w = value, top->s_wb_sel = 15;
    top->s_wb_cyc = top->s_wb_stb = 1;
    do tick();
    while (!top->s_wb_ack && !top->s_wb_err);
    if (top->s_wb_err) std::fprintf(stderr, "the register at %#lx is refused\n", address - kBase), std::exit(2);
    const uint32_t read = top->s_wb_dat_r;
    top->s_wb_cyc = top->s_wb_stb = 0;
    tick();
    return read;
}

std::map<unsigned, std::string> lines;

void put(void *user, unsigned slot, char character) {
    ++*static_cast<int *>(user);
    lines[slot] += character;
    if (character == '\n') std::printf("console %s", lines[slot].c_str()), lines[slot].clear();
}

void print(const char *name, long long value) { std::printf("%s %lld\n", name, value); }

}  // namespace

extern "C" uint32_t metronome_read32(uintptr_t address) { return access(address, false, 0); }
extern "C" void metronome_write32(uintptr_t address, uint32_t value) { access(address, true, value); }

int main(int, char **words) {
    std::ifstream file(words[1]);
    uint32_t entry = 0, argument = 0, address = 0;
    for (std::string word; file >> word;) {
        if (word == "//") {
            std::string name, value;
            file >> name >> value;
            if (name == "entry") entry = std::stoul(value, nullptr, 0);
            if (name == "argument") argument = std::stoul(value, nullptr, 0);
            std::getline(file, word);
        } else if (word[0] == '@') address = std::stoul(word.substr(1), nullptr, 16);
        else memory[address++] = std::stoul(word, nullptr, 16);
    }
    VerilatedContext context;
    top = new Vmetronome_sm(&context);
    top->rst = 1, tick(), tick(), top->rst = 0;
    int characters = 0;
    print("elsewhere", metronome_probe(kBase + METRONOME_STATUS));
    print("probe", metronome_probe(kBase));
    print("start", metronome_start(kBase, entry, argument));
    print("start_again", metronome_start(kBase, entry, argument));
    print("early", metronome_wait(kBase, 3, put, &characters));
    const int result = metronome_wait(kBase, 1'000'000, put, &characters);
    print("wait", result);
    print("characters", characters);
    print("lost", metronome_console_lost(kBase));
    print("exit_code", metronome_exit_code(kBase));
    print("committed", metronome_counter(kBase, METRONOME_COMMITTED));
    print("taken_branches", metronome_counter(kBase, METRONOME_TAKEN_BRANCHES));
    print("total_cycles", metronome_counter(kBase, METRONOME_TOTAL_CYCLES));
    metronome_fault fault;
    metronome_get_fault(kBase, &fault);
    if (result == METRONOME_FAULT) print("cause", fault.cause), print("pc", fault.pc), print("address", fault.address);
    // Nobody reads the console of the second run, and the third is stopped.
    print("second", metronome_start(kBase, entry, argument));
    print("unread", metronome_wait(kBase, 1'000'000, nullptr, nullptr));
    print("unread_lost", metronome_console_lost(kBase));
    unsigned slot = 0;
    int left = 0;
    while (metronome_getchar(kBase, &slot) >= 0) ++left;
    print("left", left);
    print("third", metronome_start(kBase, entry, argument));
    print("third_early", metronome_wait(kBase, 100, nullptr, nullptr));
    print("reset", metronome_reset(kBase, 1'000));
    print("status", metronome_read32(kBase + METRONOME_STATUS));
    print("lost_after_reset", metronome_console_lost(kBase));
    top->final();
    return 0;
}
