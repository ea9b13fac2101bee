#include "../plain/plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    uint32_t i = 0, s = index;
    while (++i < index) ;
    for (uint32_t j = 0; j < index; j++) ;
    for (volatile uint32_t j = 0; j < index % 5; j++) ;
    do ; while (draw(&s) & 3);
    out[0] = i;
    do {
        if (draw(&s) & 1) continue;
        out[1]++;
        if (out[1] == 4) break;
    } while (++i < 60);
    out[2] = s;
    for (;;) {
        if (i++ > 90 + index % 4) { out[3] = i; return; }
        if (draw(&s) % 32 == 0) { out[3] = 1; return; }
        do { if (draw(&s) % 4 == 0) break; if (draw(&s) % 16 == 1) return; } while (1);
    }
}
