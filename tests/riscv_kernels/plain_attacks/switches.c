#include "../plain/plain.h"

static __attribute__((noinline)) uint32_t f(uint32_t x, uint32_t *o)
{
    switch (x) {
    case 0: o[0]++; /* fall through */
    case 1: o[1]++; break;
    case 2: case 3: return 3;
    case 100: o[2] += 2; /* fall through */
    case 101: case 102: case 103: o[2]++; if (o[2] > 4) break; return 4;
    case 5000: return 9;
    default: if (x & 1) break; return 2;
    }
    return x + o[1];
}
static void plain(uint32_t index, uint32_t *out)
{
    uint32_t s = index;
    for (int i = 0; i < 12; i++) {
        uint32_t d = draw(&s);
        switch (d & 3) {
        case 0: if (d & 8) continue; out[3]++; break;
        case 1: for (uint32_t k = 0; k < 5; k++) switch (d >> k & 3) { case 1: continue; case 2: goto away; default: out[3] += k; }
            break;
        case 2: out[3] += f(d & 16 ? d & 7 : 100 + (d & 3), out); if (out[3] > 60) return; break;
        away:
        case 3: out[3] ^= f(5000 - (d >> 9 & 1), out);
        }
    }
}
