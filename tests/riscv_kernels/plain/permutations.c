#include "plain.h"

static int next(uint8_t *values, int count)
{
    int i = count - 2;
    while (i >= 0 && values[i] >= values[i + 1])
        i--;
    if (i < 0)
        return 0;
    int j = count - 1;
    while (values[j] <= values[i])
        j--;
    uint8_t kept = values[i];
    values[i] = values[j];
    values[j] = kept;
    for (int a = i + 1, b = count - 1; a < b; a++, b--) {
        kept = values[a];
        values[a] = values[b];
        values[b] = kept;
    }
    return 1;
}

static void plain(uint32_t index, uint32_t *out)
{
    uint8_t values[5];
    const int count = 2 + (int)(index % 4);
    for (int i = 0; i < count; i++)
        values[i] = (uint8_t)((index >> i & 1) + (uint32_t)i);
    for (int i = 1; i < count; i++)
        if (values[i] < values[i - 1])
            values[i] = values[i - 1];
    do {
        out[0]++;
        uint32_t number = 0;
        for (int i = 0; i < count; i++)
            number = number * 10 + values[i];
        if (number % 3 == 0)
            out[1] += number;
    } while (next(values, count));
}
