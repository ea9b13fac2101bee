#include "plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    uint32_t state = index, values[20], stack[20];
    const int count = 5 + (int)(index % 16);
    for (int i = 0; i < count; i++)
        values[i] = draw(&state) % 100;
    int top = 0, turns = 0;
    stack[top++] = (uint32_t)(count - 1);
    while (top) {
        const int low = (int)(stack[--top] >> 16), high = (int)(stack[top] & 0xFFFF);
        turns++;
        if (low >= high)
            continue;
        const uint32_t pivot = values[(low + high) / 2];
        int i = low - 1, j = high + 1;
        for (;;) {
            do
                i++;
            while (values[i] < pivot);
            do
                j--;
            while (values[j] > pivot);
            if (i >= j)
                break;
            const uint32_t kept = values[i];
            values[i] = values[j];
            values[j] = kept;
        }
        stack[top++] = (uint32_t)low << 16 | (uint32_t)j;
        if (j + 1 < high)
            stack[top++] = (uint32_t)(j + 1) << 16 | (uint32_t)high;
    }
    for (int i = 0; i < count; i++)
        out[i % 3] = out[i % 3] * 101 + values[i];
    out[3] = turns > 0;
}
