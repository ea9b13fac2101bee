#include "../plain/plain.h"

/* Values of a loop used behind it, when lanes leave at different times; a uniform counter that is not any more. */
static void plain(uint32_t index, uint32_t *out)
{
    uint32_t i, j = 0, k = 0;
    for (i = 0; i < 20; i++) { if (((i * 7 + index) & 15) == 3) break; }
    if (i < 10) out[0] = i; else out[0] = 100 + i;
    for (;;) { j++; if (j == 5) { if (index & 1) break; } if (j == 9) break; }
    while (k < j) { k += 2; if (k == 6) out[1]++; }
    for (uint32_t a = 0; a < 4; a++) { for (i = 0; i < a + 2; i++) if (((i + index) & 3) == 0) break; if (i == a) out[2] += 1u << a; }
    do { k--; if (k == 4) continue; out[3]++; } while (k && k != (index & 3));
    out[3] += k * 16;
}
