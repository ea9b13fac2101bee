#include "../plain/plain.h"

static __attribute__((noinline)) void fill(uint32_t *p, uint32_t n, uint32_t v) { while (n--) *p++ = v++ * 3; }
static __attribute__((noinline)) uint32_t *pick(uint32_t *a, uint32_t *b, uint32_t c) { if (c & 1) return a; return c & 2 ? b : b + 1; }
static void plain(uint32_t index, uint32_t *out)
{
    uint32_t a[9], b[5], x = 5, y = 6, *p = index & 1 ? &x : &y;
    uint16_t h[7]; uint8_t c[5];
    fill(a, 9, index); fill(b, 5, index + 1);
    *pick(a, b, index) = 99;
    for (uint32_t i = 0; i < 7; i++) h[i] = (uint16_t)(a[i] + i);
    for (uint32_t i = 0; i < 5; i++) c[i] = (uint8_t)h[i + (index & 1)];
    *p += index;
    if (index % 3 == 0) { fill(&x, 1, index); p = &a[index % 9]; }
    *p = *p * 5 + 1;
    for (uint32_t i = 0; i < 9; i++) out[0] += a[i] * (i + 1);
    for (uint32_t i = 0; i < 5; i++) out[1] = out[1] * 31 + b[i] + c[i];
    out[2] = x; out[3] = y;
}
