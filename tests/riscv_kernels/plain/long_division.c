#include "plain.h"

/* 64 bits: the compiler's library has loops of its own. */
static void plain(uint32_t index, uint32_t *out)
{
    uint64_t x = 0x123456789ABCDEFull * (index + 1), sum = 0;
    const uint64_t divisor = index % 4 == 0 ? 10 : (uint64_t)index << (index % 40) | 3;
    for (uint32_t i = 0; x && i < 12; i++) {
        sum += x % divisor;
        x /= divisor;
        out[2]++;
    }
    const int64_t negative = -(int64_t)(sum >> 1) / (int64_t)(index + 1);
    out[0] = (uint32_t)sum;
    out[1] = (uint32_t)(sum >> 32);
    out[3] = (uint32_t)negative;
}
