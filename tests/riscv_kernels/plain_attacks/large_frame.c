#include "../plain/plain.h"

static __attribute__((noinline)) uint32_t f(uint32_t n, uint32_t x)
{
    volatile uint32_t cells[600];
    for (uint32_t i = 0; i < 600; i += 50) cells[i + x % 50] = i * n;
    if (n && x % 3 != 2) return f(n - 1, x * 5 + 1) + cells[50 + x % 50];
    uint32_t s = 0;
    for (uint32_t i = x % 50; i < 600; i += 50) { if (cells[i] > 2000) break; s += cells[i]; }
    return s + n;
}
static void plain(uint32_t index, uint32_t *out)
{
    out[0] = f(index % 3, index);
    if (index & 1) out[1] = f(1, index + 1);
}
