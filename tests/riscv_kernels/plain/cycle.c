#include "plain.h"

/* Floyd's tortoise and hare. */
static uint32_t step(uint32_t x, uint32_t index) { return (x * x + index) % 97; }

static void plain(uint32_t index, uint32_t *out)
{
    uint32_t slow = step(2, index), fast = step(slow, index);
    while (slow != fast) {
        slow = step(slow, index);
        fast = step(step(fast, index), index);
    }
    uint32_t before = 0, length = 1;
    for (slow = 2; slow != fast; before++) {
        slow = step(slow, index);
        fast = step(fast, index);
    }
    fast = step(slow, index);
    for (; slow != fast; length++)
        fast = step(fast, index);
    out[0] = before;
    out[1] = length;
}
