#include "../plain/plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    uint32_t s = index, x = index;
    while (x < 2000) {
        if (draw(&s) & 1) { x += 3; continue; }
        if (draw(&s) & 2) { x += x / 2; out[0]++; continue; }
        while (draw(&s) & 1) { x++; out[1]++; if (x % 7 == 0) goto again; }
        out[2]++;
    again:
        x += 50;
    }
    out[3] = x;
}
