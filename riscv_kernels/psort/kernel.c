/* Parallel sort by rank, as Vortex's: each thread compares its element to every other one, and the number of smaller
 * ones (of equal ones, those before it) is its place. All threads of a warp read the same element at a time. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    const TYPE *source;
    TYPE *target;
} arguments;

static void place_element(const void *block)
{
    const arguments *const args = block;
    const uint32_t n = args->n;
    const TYPE *const source = args->source;
    const uint32_t own = blockIdx.x;
    const TYPE value = source[own];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < n; i++) {
        const TYPE other = source[i];
        /* | and &, not || and &&: no branch in the loop but its own. */
        rank += (uint32_t)(other < value) | ((uint32_t)(other == value) & (uint32_t)(i < own));
    }
    args->target[rank] = value;
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    region_begin();
    const int status = spawn_threads(1, &args->n, 0, place_element, args);
    region_end();
    return status;
}
