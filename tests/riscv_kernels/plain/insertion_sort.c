#include "plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    float values[12];
    uint32_t state = index + 7;
    const int count = (int)(index % 13);
    for (int i = 0; i < count; i++)
        values[i] = (float)(draw(&state) % 100) * 0.25f;
    for (int i = 1; i < count; i++) {
        const float value = values[i];
        int j = i;
        while (j > 0 && values[j - 1] > value) {
            values[j] = values[j - 1];
            j--;
            out[3]++;
        }
        values[j] = value;
    }
    for (int i = 0; i < count; i++)
        out[i % 3] = out[i % 3] * 101 + (uint32_t)(values[i] * 4.0f);
}
