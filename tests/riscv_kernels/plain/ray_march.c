#include "plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    /* Towards a ball in front of a plane. */
    const float dx = (float)(index % 8) * 0.125f - 0.5f, dy = (float)(index / 8) * 0.125f - 0.5f;
    const float length = __builtin_sqrtf(dx * dx + dy * dy + 1.0f);
    const float sx = dx / length, sy = dy / length, sz = 1.0f / length;
    float x = 0, y = 0, z = 0;
    uint32_t steps, hit = 0;
    for (steps = 0; steps < 40 && !hit; steps++) {
        const float bz = z - 3.0f;
        const float ball = __builtin_sqrtf(x * x + y * y + bz * bz) - 1.0f;
        const float plane = 5.0f - z;
        const float distance = ball < plane ? ball : plane;
        if (distance < 0.01f) {
            hit = ball < plane ? 1 : 2;
            break;
        }
        x = x + sx * distance;
        y = y + sy * distance;
        z = z + sz * distance;
    }
    out[0] = steps;
    out[1] = hit;
    out[2] = float_bits(z);
}
