#include "plain.h"

/* A root of a cubic; several ways to give up. */
static float f(float x, float a, float b)
{
    const float square = x * x;
    const float cube = square * x;
    return cube + a * x + b;
}

static void plain(uint32_t index, uint32_t *out)
{
    const float a = (float)(index % 7) - 3.0f, b = (float)(index % 11) * 0.5f - 2.0f;
    float low = -2, high = 2, middle = 0;
    if (f(low, a, b) > 0.0f || f(high, a, b) < 0.0f) {
        out[1] = 1000;
        return;
    }
    for (;;) {
        middle = (low + high) * 0.5f;
        const float value = f(middle, a, b);
        if (value == 0.0f || high - low < 0.001f || out[1] >= 30)
            break;
        if (value > 0.0f)
            high = middle;
        else
            low = middle;
        out[1]++;
    }
    out[0] = float_bits(middle);
}
