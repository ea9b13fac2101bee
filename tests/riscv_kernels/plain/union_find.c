#include "plain.h"

static uint32_t root(uint8_t *parent, uint32_t x)
{
    while (parent[x] != x) {
        parent[x] = parent[parent[x]];
        x = parent[x];
    }
    return x;
}

static void plain(uint32_t index, uint32_t *out)
{
    uint8_t parent[16], size[16];
    uint32_t state = index;
    for (uint32_t i = 0; i < 16; i++) {
        parent[i] = (uint8_t)i;
        size[i] = 1;
    }
    for (uint32_t n = 0; n < 4 + index % 11; n++) {
        uint32_t a = root(parent, draw(&state) % 16), b = root(parent, draw(&state) % 16);
        if (a == b) {
            out[1]++;
            continue;
        }
        if (size[a] < size[b]) {
            const uint32_t kept = a;
            a = b;
            b = kept;
        }
        parent[b] = (uint8_t)a;
        size[a] = (uint8_t)(size[a] + size[b]);
    }
    for (uint32_t i = 0; i < 16; i++) {
        if (root(parent, i) == i)
            out[0]++;
        if (size[root(parent, i)] > out[2])
            out[2] = size[root(parent, i)];
    }
}
