#include "plain.h"

/* 4 x 4: how many solutions, up to three, and the cell that decides first. */
static int fits(const uint8_t *grid, uint32_t cell, uint32_t digit)
{
    const uint32_t row = cell / 4, column = cell % 4;
    for (uint32_t i = 0; i < 4; i++) {
        if (grid[4 * row + i] == digit || grid[4 * i + column] == digit)
            return 0;
        if (grid[4 * (row / 2 * 2 + i / 2) + column / 2 * 2 + i % 2] == digit)
            return 0;
    }
    return 1;
}

static uint32_t solve(uint8_t *grid, uint32_t cell, uint32_t *turns)
{
    while (cell < 16 && grid[cell])
        cell++;
    if (cell == 16)
        return 1;
    uint32_t found = 0;
    ++*turns;
    for (uint32_t digit = 1; digit <= 4; digit++) {
        if (!fits(grid, cell, digit))
            continue;
        grid[cell] = (uint8_t)digit;
        found += solve(grid, cell + 1, turns);
        if (found >= 3)
            break;
    }
    grid[cell] = 0;
    return found;
}

static void plain(uint32_t index, uint32_t *out)
{
    uint8_t grid[16] = {0};
    uint32_t state = index;
    for (uint32_t i = 0; i < 9 + index % 5; i++) {
        const uint32_t cell = draw(&state) % 16, digit = draw(&state) % 4 + 1;
        if (!grid[cell] && fits(grid, cell, digit))
            grid[cell] = (uint8_t)digit;
    }
    out[0] = solve(grid, 0, &out[1]);
}
