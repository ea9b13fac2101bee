#include "plain.h"

static void swap(uint32_t *a, uint32_t *b)
{
    const uint32_t kept = *a;
    *a = *b;
    *b = kept;
}

static void sort(uint32_t *values, int low, int high)
{
    if (low >= high)
        return;
    int last = low;
    for (int i = low + 1; i <= high; i++)
        if (values[i] < values[low])
            swap(&values[++last], &values[i]);
    swap(&values[low], &values[last]);
    sort(values, low, last - 1);
    sort(values, last + 1, high);
}

static void plain(uint32_t index, uint32_t *out)
{
    uint32_t state = index * 3 + 1, values[17];
    const int count = 1 + (int)(index % 17);
    for (int i = 0; i < count; i++)
        values[i] = draw(&state) % 100;
    sort(values, 0, count - 1);
    for (int i = 0; i < count; i++)
        out[i % 3] = out[i % 3] * 101 + values[i];
}
