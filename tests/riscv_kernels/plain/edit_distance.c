#include "plain.h"

static uint32_t least(uint32_t a, uint32_t b, uint32_t c)
{
    if (a < b)
        return a < c ? a : c;
    return b < c ? b : c;
}

static void plain(uint32_t index, uint32_t *out)
{
    uint8_t a[10], b[10], row[11];
    uint32_t state = index;
    const uint32_t m = index % 10, n = index / 3 % 10;
    for (uint32_t i = 0; i < m; i++)
        a[i] = (uint8_t)(draw(&state) & 3);
    for (uint32_t i = 0; i < n; i++)
        b[i] = (uint8_t)(draw(&state) & 3);
    for (uint32_t j = 0; j <= n; j++)
        row[j] = (uint8_t)j;
    for (uint32_t i = 1; i <= m; i++) {
        uint32_t corner = row[0];
        row[0] = (uint8_t)i;
        for (uint32_t j = 1; j <= n; j++) {
            const uint32_t above = row[j];
            row[j] = (uint8_t)(a[i - 1] == b[j - 1] ? corner : 1 + least(corner, above, row[j - 1]));
            corner = above;
        }
    }
    out[0] = row[n];
}
