#include "../plain/plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    uint32_t s = index, n = 0;
    for (uint32_t i = 0; i < 10; i++) {
        for (uint32_t j = 0; j < 10; j++) {
            for (uint32_t k = 0; k < 4; k++) {
                n++;
                const uint32_t d = draw(&s) % 64;
                if (d == 0) goto all;
                if (d < 4) goto next;
                if (d < 8) goto inner;
                if (d < 12) break;
                if (d < 20) continue;
                if (d == 63) { out[3] = 77; return; }
                out[0] += d;
            }
            out[1] += 1;
        }
        out[1] += 100;
        continue;
    next:
        out[2]++;
    inner:
        out[2] += 16;
    }
all:
    out[3] = n;
}
