#include "../plain/plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    uint32_t count = index % 23 + 1, n = (count + 3) / 4, s = index;
    switch (count % 4) {
    case 0: do { out[0] += draw(&s);
    case 3:      out[1] ^= draw(&s); if (draw(&s) % 16 == 0) break;
    case 2:      out[0] += draw(&s) & 7; if (draw(&s) % 8 == 0) continue;
    case 1:      out[2]++;
            } while (--n > 0);
    }
    out[3] = s;
}
