#include "plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    static const uint8_t starts[] = {'a', 'z', 0xC3, 0xE2, 0xF0, 0x80, 0xC3, 0xE2};
    uint8_t text[24];
    uint32_t state = index;
    for (int i = 0; i < 24; i++)
        text[i] = i % 3 == 0 || draw(&state) % 8 == 0 ? starts[draw(&state) % 8] : (uint8_t)(0x80 + draw(&state) % 64);
    const uint8_t *at = text, *const end = text + 24;
    while (at < end) {
        uint32_t c = *at++, more;
        if (c < 0x80)
            more = 0;
        else if (c >= 0xF0)
            c &= 7, more = 3;
        else if (c >= 0xE0)
            c &= 15, more = 2;
        else if (c >= 0xC0)
            c &= 31, more = 1;
        else {
            out[1]++;
            continue;
        }
        for (; more; more--) {
            if (at == end || (*at & 0xC0) != 0x80)
                goto bad;
            c = c << 6 | (*at++ & 0x3F);
        }
        out[0]++;
        out[2] = out[2] * 17 + c;
        continue;
    bad:
        out[1]++;
        if (out[1] > 6) {
            out[3] = 1;
            return;
        }
    }
}
