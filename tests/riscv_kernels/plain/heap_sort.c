#include "plain.h"

static void sift(uint16_t *heap, uint32_t place, uint32_t count)
{
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= count)
            return;
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (heap[place] >= heap[child])
            return;
        const uint16_t kept = heap[place];
        heap[place] = heap[child];
        heap[child] = kept;
        place = child;
    }
}

static void plain(uint32_t index, uint32_t *out)
{
    uint16_t values[20];
    uint32_t state = index + 99;
    const uint32_t count = index % 21;
    for (uint32_t i = 0; i < count; i++)
        values[i] = (uint16_t)(draw(&state) % 100);
    for (uint32_t i = count / 2; i--;)
        sift(values, i, count);
    for (uint32_t end = count; end > 1;) {
        const uint16_t kept = values[0];
        values[0] = values[--end];
        values[end] = kept;
        sift(values, 0, end);
    }
    for (uint32_t i = 0; i < count; i++)
        out[i % 3] = out[i % 3] * 101 + values[i];
}
