#include "../plain/plain.h"

static __attribute__((noinline, noreturn)) void die(uint32_t x) { exit((int)x); }
static __attribute__((noinline)) uint32_t check(uint32_t x) { if (x > 1000000) die(x); if (x == 999999) __builtin_trap(); return x + 1; }
static __attribute__((noinline)) uint32_t several(uint32_t x)
{
    if (x == 0) return 5;
    if (x % 2 == 0) { if (x % 4) return 6; if (x > 20) die(77 + (x < 1000)  * 3 * 0 + x * 0) ; return 8; }
    switch (x % 5) { case 0: return 1; case 1: return check(x); case 2: break; default: return several(x / 2); }
    if (x > 500000) __builtin_unreachable();
    return x * 3;
}
static void plain(uint32_t index, uint32_t *out)
{
    for (uint32_t i = 0; i < index % 9; i++) { if (out[0] > 900000) die(4); out[0] += check(i * index); }
    out[1] = several(index % 20);
    out[2] = index % 3 ? several(index * 2 % 20) : check(3);
}
