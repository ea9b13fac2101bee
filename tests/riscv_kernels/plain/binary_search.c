#include "plain.h"

static const uint16_t table[23] = {
    3, 7, 8, 15, 16, 23, 42, 43, 50, 61, 62, 63, 70, 88, 90, 91, 99, 104, 110, 111, 120, 126, 127,
};

static int find(uint32_t wanted)
{
    int low = 0, high = 22;
    while (low <= high) {
        const int middle = (low + high) / 2;
        if (table[middle] == wanted)
            return middle;
        if (table[middle] < wanted)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -low - 1;
}

static void plain(uint32_t index, uint32_t *out)
{
    out[0] = (uint32_t)find(index);
    out[1] = (uint32_t)find(index * 2);
}
