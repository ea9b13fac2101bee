/* A filter of nine weights over an n x n image, one thread a pixel. Beyond the border of the image its outermost pixels
 * are repeated. The weights are arguments, so they are the same word for all threads.
 * The algorithm is that of Vortex's example sfilter; the code is ours. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    const TYPE *source;
    TYPE *target;
    TYPE weights[9];
} arguments;

static void filter_pixel(const void *block)
{
    const arguments *const args = block;
    const uint32_t n = args->n;
    const uint32_t column = blockIdx.x;
    const uint32_t row = blockIdx.y;
    const uint32_t left = column > 0 ? column - 1 : column;
    const uint32_t right = column < n - 1 ? column + 1 : column;
    const TYPE *const here = args->source + row * n;
    const TYPE *const above = row > 0 ? here - n : here;
    const TYPE *const below = row < n - 1 ? here + n : here;
    const TYPE *const weights = args->weights;
    args->target[row * n + column] =
        above[left] * weights[0] + above[column] * weights[1] + above[right] * weights[2] +
        here[left] * weights[3] + here[column] * weights[4] + here[right] * weights[5] +
        below[left] * weights[6] + below[column] * weights[7] + below[right] * weights[8];
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    const uint32_t grid[2] = {args->n, args->n};
    region_begin();
    const int status = spawn_threads(2, grid, 0, filter_pixel, args);
    region_end();
    return status;
}
