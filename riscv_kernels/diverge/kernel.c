/* Control flow that differs from lane to lane: branches three deep, loops that lanes leave at different times, branches
 * in loops and loops in branches and loops. host.py states the same in numpy. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    const uint32_t *keys;
    const TYPE *source;
    TYPE *target;
    uint32_t *steps;
} arguments;

static void follow_key(const void *block)
{
    const arguments *const args = block;
    const uint32_t i = blockIdx.x;
    const uint32_t key = args->keys[i];
    TYPE value = args->source[i];

    if (key & 1) {
        if (key & 2) {
            value = value * 3 + 1;
            if (key & 4) {
                value = value - 7;
            }
        } else {
            value = value - 5;
        }
    } else {
        const uint32_t rounds = key >> 1 & 7;
        uint32_t round = 0;
        while (round < rounds) {
            if (key >> (round + 4) & 1) {
                value = value + 11;
            } else {
                value = value * 2;
            }
            round += 1;
        }
    }

    /* Collatz from 1..64: how many steps down to 1, at most 40. */
    uint32_t number = (key >> 8 & 63) + 1;
    uint32_t steps = 0;
    while (number != 1 && steps < 40) {
        if (number & 1) {
            number = number * 3 + 1;
        } else {
            number >>= 1;
        }
        steps += 1;
    }

    /* A loop in a loop: outer 0..3 times, inner 0..outer times. */
    const uint32_t outer_end = key >> 16 & 3;
    uint32_t outer = 0;
    while (outer < outer_end) {
        uint32_t inner = 0;
        while (inner < outer) {
            value = value + 1;
            inner += 1;
        }
        value = value - 3;
        outer += 1;
    }

    args->target[i] = value;
    args->steps[i] = steps;
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    region_begin();
    const int status = spawn_threads(1, &args->n, 0, follow_key, args);
    region_end();
    return status;
}
