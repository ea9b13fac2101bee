#include "../plain/plain.h"

static __attribute__((noinline)) float g(float x, float y) { if (x < y) return x * 0.5f; return y + 1.0f; }
static __attribute__((noinline)) float f(float a, float b, uint32_t n)
{
    float c = a * 2, d = b - 1, e = a + b, h = 3, k = a;
    for (uint32_t i = 0; i < n; i++) {
        if (c < d) { c = c + e; h = g(h, k); } else if (e > 10.0f) { e = e * 0.25f; k = k + 1; } else { d = d - g(c, e); }
        if (!(h < 100.0f)) break;
        float t = k; k = h; h = t + 0.125f;
    }
    return c + d * 2 + e * 4 + h * 8 + k;
}
static void plain(uint32_t index, uint32_t *out)
{
    out[0] = float_bits(f((float)(index % 7), (float)(index % 11) - 4, index % 13));
    float nan = __builtin_bit_cast(float, 0x7FC00000u);
    float v = index % 4 == 0 ? nan : index % 4 == 1 ? -nan : (float)index;
    if (v < 5.0f) out[1] |= 1;
    if (!(v < 5.0f)) out[1] |= 2;
    if (v != v) out[1] |= 4;
    if (v >= 5.0f || v < 3.0f) out[1] |= 8;
    if (v == 2.0f || v != v) out[1] |= 16; else out[1] |= 32;
    if (__builtin_isgreater(v, 3.0f)) out[1] |= 64;
    while (v > 3.0f) { v = v - 4.0f; out[2]++; }
    out[3] = v <= 0.0f ? 7 : v > 0.0f ? 8 : 9;
}
