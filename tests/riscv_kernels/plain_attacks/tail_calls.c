#include "../plain/plain.h"

static uint32_t a(uint32_t n, uint32_t acc); static uint32_t b(uint32_t n, uint32_t acc);
static __attribute__((noinline)) uint32_t c(uint32_t n, uint32_t acc) { return n ? a(n - 1, acc * 3) : acc; }
static __attribute__((noinline)) uint32_t b(uint32_t n, uint32_t acc) { if (!n) return acc + 1; return n & 1 ? a(n - 1, acc + n) : c(n - 1, acc); }
static __attribute__((noinline)) uint32_t a(uint32_t n, uint32_t acc) { if (n < 2) return acc; if (acc & 1) return b(n - 1, acc ^ n); return c(n - 2, acc + 7); }
static inline uint32_t r(uint32_t n) { return n < 3 ? n : r(n - 1) + (n & 1 ? r(n - 3) : 1); }
static void plain(uint32_t index, uint32_t *out)
{
    out[0] = a(index % 25, index);
    if (index % 3 == 1) out[1] = b(index, 3); else out[1] = c(index, 4);
    out[2] = r(index % 12);
}
