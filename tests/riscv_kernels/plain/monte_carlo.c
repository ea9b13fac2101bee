#include "plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    uint32_t state = index;
    while (out[1] < 40 + index % 9) {
        const float x = (float)draw(&state) * (1.0f / 65536.0f), y = (float)draw(&state) * (1.0f / 65536.0f);
        const float square = x * x + y * y;
        out[2]++;
        if (square < 0.01f)
            continue;
        out[1]++;
        if (square < 1.0f)
            out[0]++;
    }
    out[3] = float_bits((float)out[0] * 4.0f / (float)out[1]);
}
