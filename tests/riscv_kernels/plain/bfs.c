#include "plain.h"

/* Neighbours of a node, a bit each. */
static const uint16_t edges[16] = {
    0x0012, 0x0021, 0x0008, 0x0404, 0x0101, 0x0002, 0x00C0, 0x0040, 0x8010, 0x0200, 0x1008, 0x0000, 0x6400, 0x1000, 0x1000,
    0x0100,
};

static void plain(uint32_t index, uint32_t *out)
{
    uint8_t queue[16], distance[16];
    uint32_t head = 0, tail = 0, sum = 0;
    const uint32_t start = index % 16;
    for (int i = 0; i < 16; i++)
        distance[i] = 255;
    distance[start] = 0;
    queue[tail++] = (uint8_t)start;
    while (head != tail) {
        const uint32_t node = queue[head++];
        sum += distance[node];
        if (distance[node] >= 2 + index / 16)
            continue;
        for (uint32_t next = 0; next < 16; next++)
            if (edges[node] >> next & 1 && distance[next] == 255) {
                distance[next] = (uint8_t)(distance[node] + 1);
                queue[tail++] = (uint8_t)next;
            }
    }
    out[0] = tail;
    out[1] = sum;
    out[2] = queue[tail - 1];
}
