// A board in simulation: its serial line is this program's standard input and output.
//
// Everything that the board sees changes while its clock is 0; its outputs are read after the rising edge. While the
// board has nothing to do (no byte on its way, no program that runs) no cycle passes: this waits for the next byte.
//
// Arguments: cycles of a bit; cycles of silence after which nothing happens any more; the greatest number of cycles of a
// program, 0 for no limit.

#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>

#include "Vboard.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

namespace {

constexpr int kDataBits = 8;
constexpr int kPollCycles = 256;  // how often standard input is looked at

// The bytes of standard input, on a line of `divisor` cycles a bit.
class Sender {
public:
    explicit Sender(int divisor) : divisor_(divisor) {}
    bool idle() const { return queue_.empty() && left_ == 0; }
    void put(uint8_t byte) { queue_.push_back(byte); }

    bool level() {
        if (left_ == 0) {
            if (queue_.empty()) return true;
            bits_ = queue_.front() << 1 | 1 << (kDataBits + 1);
            queue_.pop_front();
            left_ = (kDataBits + 2) * divisor_;
        }
        const int done = (kDataBits + 2) * divisor_ - left_--;
        return bits_ >> (done / divisor_) & 1;
    }

private:
    const int divisor_;
    std::deque<uint8_t> queue_;
    int left_ = 0, bits_ = 0;
};

// Bytes from a line, each bit in its middle, to standard output.
class Receiver {
public:
    explicit Receiver(int divisor) : divisor_(divisor) {}
    bool idle() const { return left_ == 0; }

    void take(bool level) {
        if (left_ == 0) {
            if (level) return;
            left_ = (kDataBits + 2) * divisor_ - divisor_ / 2, bits_ = 0;
        }
        --left_;
        if (left_ % divisor_ != 0) return;
        const int place = kDataBits + 1 - left_ / divisor_;  // 0 is the start bit
        if (place >= 1 && place <= kDataBits) bits_ |= level << (place - 1);
        if (left_ != 0) return;
        if (!level) {
            std::fputs("the board has sent a byte without its stop bit\n", stderr);
            std::exit(3);
        }
        const uint8_t byte = bits_;
        if (::write(STDOUT_FILENO, &byte, 1) != 1) std::exit(0);
    }

private:
    const int divisor_;
    int left_ = 0, bits_ = 0;
};

// False at the end of standard input. `wait`: until there is something.
bool read_input(Sender &sender, bool wait) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, wait ? -1 : 0) <= 0) return true;
    uint8_t bytes[4096];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    for (ssize_t place = 0; place < count; ++place) sender.put(bytes[place]);
    return count > 0;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    const int divisor = std::atoi(argv[1]);
    const uint64_t silence = std::strtoull(argv[2], nullptr, 10), most = std::strtoull(argv[3], nullptr, 10);
    VerilatedContext context;
    Vboard top{&context};
    Sender sender(divisor);
    Receiver receiver(divisor);
    uint64_t quiet = 0, busy = 0;
    top.ftdi_txd = 1;
    top.btn_fire1 = 0;
    for (uint64_t cycle = 0;; ++cycle) {
        top.clk_25mhz = 0;
        top.ftdi_txd = sender.level();
        top.eval();
        top.clk_25mhz = 1;
        top.eval();
        const bool runs = top.led & 1;
        receiver.take(top.ftdi_rxd);
        busy = runs ? busy + 1 : 0;
        if (most != 0 && busy > most) return 4;
        quiet = sender.idle() && receiver.idle() && !runs ? quiet + 1 : 0;
        const bool wait = quiet > silence;
        if ((wait || cycle % kPollCycles == 0) && !read_input(sender, wait)) return 0;
    }
}
