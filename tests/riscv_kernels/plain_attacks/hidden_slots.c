#include "../plain/plain.h"

/* Words of a frame that are written in parts, by structures and by calls, between uses as a whole. */
typedef struct { uint32_t a; uint16_t b, c; uint8_t d[4]; } mixed;
static __attribute__((noinline)) void poke(mixed *m, uint32_t x) { if (x & 1) m->d[x & 3] = (uint8_t)x; else m->c++; }
static __attribute__((noinline)) mixed make(uint32_t x) { mixed m = {1, 2, 3, {4, 5, 6, 7}}; if (x % 5 == 0) m.b = 9; return m; }
static void plain(uint32_t index, uint32_t *out)
{
    volatile uint32_t w = 1, v = 3;
    mixed m = make(index), n = {1, 1, 1, {1, 1, 1, 1}};
    volatile mixed k = {0, 0, 0, {0}};
    if (index & 2) ((volatile uint8_t *)&w)[1] = 1;
    if (w == 1) out[0]++; else out[0] += 10;
    poke(&m, index);
    if (m.a == 1 && m.c == 4) { out[0] += 100; n = m; }
    k.a = 5; k.d[index & 3] = 1;
    if (k.d[0]) out[1]++;
    k.b = (uint16_t)index;
    if (k.b & 1) v = index;
    if (v == 3) out[1] += 10;
    if (n.d[3] == 7) out[2] = 3;
    if (*(volatile uint16_t *)&k.b > 10 || k.a == 6) out[2] += 5;
    out[3] = m.b + n.b * 10u + k.d[1] * 100u;
}
