#include "plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    const float wanted = (float)index * 3.5f;
    float x = wanted > 1.0f ? wanted : 1.0f;
    for (uint32_t turn = 0; turn < 60; turn++) {
        const float next = 0.5f * (x + wanted / x);
        const float change = next - x;
        x = next;
        out[1] = turn;
        if (__builtin_fabsf(change) <= 1e-6f * x)
            break;
        if (x < 1e-6f) {
            x = 0.0f;
            break;
        }
    }
    out[0] = float_bits(x);
}
