#include "plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    uint32_t keys[16], values[16], state = index;
    for (int i = 0; i < 16; i++)
        keys[i] = 0;
    for (uint32_t n = 0; n < 6 + index % 8; n++) {
        const uint32_t key = draw(&state) % 24 + 1;
        uint32_t place = key * 5 & 15;
        while (keys[place] != 0 && keys[place] != key) {
            place = (place + 1) & 15;
            out[0]++;
        }
        if (keys[place] == key) {
            values[place] += n;
        } else {
            keys[place] = key;
            values[place] = n;
        }
    }
    for (uint32_t key = 1; key <= 24; key++) {
        uint32_t place = key * 5 & 15;
        for (; keys[place] != key; place = (place + 1) & 15)
            if (keys[place] == 0)
                goto absent;
        out[1] += values[place];
        out[2] = key;
        continue;
    absent:
        out[3]++;
    }
}
