#include "plain.h"

typedef struct node {
    struct node *next;
    uint32_t value;
} node;

static void plain(uint32_t index, uint32_t *out)
{
    node nodes[12], *first = 0;
    uint32_t state = index;
    for (uint32_t i = 0; i < index % 13; i++) {
        /* Sorted; what is there already is left out. */
        node **place = &first;
        const uint32_t value = draw(&state) % 20;
        while (*place && (*place)->value < value)
            place = &(*place)->next;
        if (*place && (*place)->value == value)
            continue;
        nodes[i] = (node){*place, value};
        *place = &nodes[i];
    }
    for (node **place = &first; *place;) {
        if ((*place)->value % 3 == index % 3)
            *place = (*place)->next;
        else
            place = &(*place)->next;
    }
    node *reversed = 0;
    while (first) {
        node *const next = first->next;
        first->next = reversed;
        reversed = first;
        first = next;
    }
    for (const node *at = reversed; at; at = at->next) {
        out[0]++;
        out[1] = out[1] * 21 + at->value;
    }
}
