#include "../plain/plain.h"

static __attribute__((noinline)) int side(uint32_t *p, uint32_t x) { p[0]++; return x & 1; }
static void plain(uint32_t index, uint32_t *out)
{
    uint32_t s = index;
    for (int i = 0; i < 8; i++) {
        uint32_t a = draw(&s), b = draw(&s);
        if ((a & 1 && side(out, b)) || (b & 2 && !side(out, a)) || (side(out, a >> 1) && side(out, b >> 1))) out[1]++;
        while (a && (b & 1 || side(out, a))) { a >>= 1; b >>= 1; if (a == 5 || (b == 7 && side(out, b))) break; }
        out[2] += a ? side(out, a) ? 3 : 4 : b ? 5 : 6;
        out[3] ^= (a && b) + ((a || b) ? a : b * 2);
    }
}
