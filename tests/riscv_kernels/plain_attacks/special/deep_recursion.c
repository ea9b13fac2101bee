#include "../../plain/plain.h"

/* 110 calls deep, with 16 branches around calls in each: a quarter of the stack without what the pass adds. */
static __attribute__((noinline)) uint32_t g(uint32_t x)
{
    __asm__ volatile("");
    return x & 4 ? x * 3 : x + 1;
}

static __attribute__((noinline)) uint32_t f(uint32_t n, uint32_t x)
{
    if (x >> 0 & 1)
        x = g(x);
    if (x >> 1 & 1)
        x = g(x);
    if (x >> 2 & 1)
        x = g(x);
    if (x >> 3 & 1)
        x = g(x);
    if (x >> 4 & 1)
        x = g(x);
    if (x >> 5 & 1)
        x = g(x);
    if (x >> 6 & 1)
        x = g(x);
    if (x >> 7 & 1)
        x = g(x);
    if (x >> 8 & 1)
        x = g(x);
    if (x >> 9 & 1)
        x = g(x);
    if (x >> 10 & 1)
        x = g(x);
    if (x >> 11 & 1)
        x = g(x);
    if (x >> 12 & 1)
        x = g(x);
    if (x >> 13 & 1)
        x = g(x);
    if (x >> 14 & 1)
        x = g(x);
    if (x >> 15 & 1)
        x = g(x);
    return n ? f(n - 1, x * 5 + n) + 1 : x;
}

static void plain(uint32_t index, uint32_t *out)
{
    out[0] = f(100 + index % 10, index * 77);
}
