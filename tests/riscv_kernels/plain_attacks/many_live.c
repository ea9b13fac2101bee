#include "../plain/plain.h"

/* More than the registers hold, floats too, across calls in branches. */
static __attribute__((noinline)) uint32_t f(uint32_t a, float x) { if (a & 1) return a * 3 + (x > 2.0f ? 1 : 0); return a / 2; }
static void plain(uint32_t index, uint32_t *out)
{
    uint32_t v[24]; float g[20];
    uint32_t s = index;
    uint32_t a = draw(&s), b = draw(&s), c = draw(&s), d = draw(&s), e = draw(&s), h = draw(&s), i = draw(&s), j = draw(&s), k = draw(&s), l = draw(&s), m = draw(&s), n = draw(&s), o = draw(&s), p = draw(&s), q = draw(&s), r = draw(&s);
    float w = (float)(a & 7), x = (float)(b & 7), y = (float)(c & 7), z = (float)(d & 7);
    for (uint32_t t = 0; t < 3 + index % 5; t++) {
        if (a & 1) { b = f(c, w); d += e; w = w + x; if (d & 2) { e = f(h, x) ^ i; j++; } }
        else { x = y; y = z + 0.5f; if (k > l) { l = f(m, y); if (l & 4) continue; } else { n ^= o; w = z; } }
        while (p & 3) { p = f(p, z) + 1; q++; if (q % 5 == 0) break; }
        r = r * 3 + a; a = b; b = c; c = d; d = r; if (r % 11 == 0) break;
    }
    (void)v; (void)g;
    out[0] = a + b + c + d; out[1] = e + h + i + j + k + l; out[2] = m ^ n ^ o ^ p ^ q ^ r;
    out[3] = (uint32_t)(int)(w + x * 8 + y * 64 + z * 512);
}
