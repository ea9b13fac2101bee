#include "../plain/plain.h"

/* Depth of branches and loops; recursion 30 deep with values in memory. */
static __attribute__((noinline)) uint32_t f(uint32_t n, uint32_t x)
{
    if (n == 0) return x;
    uint32_t r = 0;
    for (uint32_t i = 0; i < 2; i++) {
        if (x & 1) { if (x & 2) { if (x & 4) { if (x & 8) { r += 7; if (x & 16) r ^= f(0, 3); } r += 5; } else r += f(0, x); r++; } r ^= 3; }
        else if (i == 1) break;
        if (x % 13 == 5) return r;
    }
    return r + f(n - 1, x * 5 + n);
}
static void plain(uint32_t index, uint32_t *out)
{
    uint32_t n = 0, s = index;
    for (uint32_t a = 0; a < index % 3 + 1; a++) { if (draw(&s) & 1) for (uint32_t b = 0; b < 3; b++) { if (draw(&s) & 3)
        for (uint32_t c = a; c < 4; c++) { while (draw(&s) & 1) { do { if (draw(&s) & 1) { n++; for (;;) { if (draw(&s) % 3 == 0) break; if (draw(&s) % 7 == 0) goto out_of_all; if (draw(&s) % 5 == 0) goto next_b; n += 3; } } } while (draw(&s) % 3 == 1); } if (n > 200) return; } next_b: n++; } }
out_of_all:
    out[0] = n; out[1] = f(index % 31, index);
}
