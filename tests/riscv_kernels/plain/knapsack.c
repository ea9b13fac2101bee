#include "plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    uint16_t best[41] = {0};
    uint32_t state = index;
    const uint32_t room = 10 + index % 31;
    for (uint32_t item = 0; item < 3 + index % 5; item++) {
        const uint32_t weight = 1 + draw(&state) % 12, value = draw(&state) % 50;
        if (weight > room)
            continue;
        for (uint32_t w = room; w >= weight; w--)
            if (best[w - weight] + value > best[w])
                best[w] = (uint16_t)(best[w - weight] + value);
    }
    out[0] = best[room];
    while (out[1] < room && best[out[1]] != best[room])
        out[1]++;
}
