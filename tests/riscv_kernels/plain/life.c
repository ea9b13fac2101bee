#include "plain.h"

/* 8 x 8 on a torus, a byte a row, until it dies or stands still. */
static uint32_t neighbours(const uint8_t *rows, uint32_t y, uint32_t x)
{
    uint32_t count = 0;
    for (uint32_t dy = 7; dy <= 9; dy++)
        for (uint32_t dx = 7; dx <= 9; dx++) {
            if (dx == 8 && dy == 8)
                continue;
            if (rows[(y + dy) & 7] >> ((x + dx) & 7) & 1)
                count++;
        }
    return count;
}

static void plain(uint32_t index, uint32_t *out)
{
    uint8_t rows[8], next[8];
    uint32_t state = index;
    for (int y = 0; y < 8; y++)
        rows[y] = (uint8_t)(draw(&state) & draw(&state));
    for (uint32_t turn = 0; turn < 3; turn++) {
        uint32_t alive = 0, changed = 0;
        for (uint32_t y = 0; y < 8; y++) {
            next[y] = 0;
            for (uint32_t x = 0; x < 8; x++) {
                const uint32_t n = neighbours(rows, y, x);
                if (n == 3 || (n == 2 && rows[y] >> x & 1)) {
                    next[y] |= (uint8_t)(1u << x);
                    alive++;
                }
            }
            changed |= next[y] ^ rows[y];
        }
        memcpy(rows, next, 8);
        out[0] = alive;
        out[1] = turn;
        if (!alive || !changed)
            break;
    }
    for (int y = 0; y < 8; y++)
        out[2] = out[2] * 257 + rows[y];
}
