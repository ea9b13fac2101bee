#include "plain.h"

/* All threads call the same function of the table, and in it go their own ways. */
static uint32_t count_bits(uint32_t x)
{
    uint32_t count = 0;
    for (; x; x &= x - 1)
        count++;
    return count;
}

static uint32_t root(uint32_t x)
{
    uint32_t r = 0;
    while ((r + 1) * (r + 1) <= x)
        r++;
    return r;
}

static uint32_t digits(uint32_t x)
{
    if (x < 10)
        return x;
    return digits(x / 10) + x % 10;
}

static uint32_t (*const table[3])(uint32_t) = {count_bits, root, digits};

static void plain(uint32_t index, uint32_t *out)
{
    for (uint32_t i = 0; i < 3; i++)
        out[i] = table[i](index * 37);
}
