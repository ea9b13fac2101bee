#include "plain.h"

typedef struct {
    int8_t left, right;
    uint8_t key;
} node;

static void walk(const node *nodes, int at, uint32_t depth, uint32_t *out)
{
    if (at < 0)
        return;
    walk(nodes, nodes[at].left, depth + 1, out);
    out[0] = out[0] * 31 + nodes[at].key;
    if (depth > out[1])
        out[1] = depth;
    walk(nodes, nodes[at].right, depth + 1, out);
}

static void plain(uint32_t index, uint32_t *out)
{
    node nodes[14];
    uint32_t state = index;
    int count = 0;
    for (uint32_t i = 0; i < 1 + index % 14; i++) {
        const uint8_t key = (uint8_t)(draw(&state) % 40);
        int8_t *link = 0;
        int at = count ? 0 : -1;
        while (at >= 0) {
            if (key == nodes[at].key)
                goto there;
            link = key < nodes[at].key ? &nodes[at].left : &nodes[at].right;
            at = *link;
        }
        if (link)
            *link = (int8_t)count;
        nodes[count++] = (node){-1, -1, key};
    there:;
    }
    walk(nodes, 0, 1, out);
    out[2] = (uint32_t)count;
}
