#include "plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    const float cx = (float)(index % 16) * 0.1875f - 2.0f;
    const float cy = (float)(index / 16) * 0.25f - 1.0f;
    float x = 0, y = 0;
    uint32_t n;
    for (n = 0; n < 50; n++) {
        const float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f)
            break;
        y = 2.0f * x * y + cy;
        x = xx - yy + cx;
    }
    out[0] = n;
    out[1] = float_bits(x);
    out[2] = float_bits(y);
}
