/* The columns of a separable convolution: each pixel is the sum of 17 neighbours in its column, weighted. A block has
 * as many columns as a warp has lanes, and a warp for each of some rows. It loads its pixels and those within the radius
 * above and below into local memory, then each thread sums its own `steps` pixels up. The image in memory has RADIUS rows of
 * zeros above and below, so no thread asks where it is. The algorithm is that of convolutionSeparable of the CUDA SDK; the code is ours. */
#include "metronome.h"

#define RADIUS 8

typedef struct {
    uint32_t grid[2];     /* blocks: of a row, of a column */
    uint32_t block[2];    /* threads of a block: columns, rows */
    uint32_t steps;       /* pixels of a thread, block[1] rows apart */
    uint32_t width;
    const TYPE *source;   /* begins RADIUS rows of zeros above the first pixel */
    const TYPE *weights;  /* 2 * RADIUS + 1 */
    TYPE *target;
} arguments;

static void convolve(const void *block)
{
    const arguments *const args = block;
    const uint32_t columns = args->block[0];
    const uint32_t rows = args->block[1];
    const uint32_t width = args->width;
    const uint32_t made = rows * args->steps;
    const uint32_t places = made + 2 * RADIUS;
    const uint32_t row = threadIdx.y;
    TYPE *const mine = (TYPE *)local_memory(places * columns * sizeof(TYPE)) + row * columns + threadIdx.x;
    const uint32_t first = (blockIdx.y * made + row) * width + blockIdx.x * columns + threadIdx.x;

    const TYPE *source = args->source + first;
    TYPE *to = mine;
    for (uint32_t place = row; place < places; place += rows, source += rows * width, to += rows * columns)
        *to = *source;
    __syncthreads();

    TYPE *target = args->target + first;
    const TYPE *near = mine;
    for (uint32_t step = row; step < made; step += rows, target += rows * width, near += rows * columns) {
        const TYPE *at = near;
        TYPE sum = 0;
        for (uint32_t tap = 0; tap <= 2 * RADIUS; tap++, at += columns)
            sum += *at * args->weights[tap];
        *target = sum;
    }
    __syncthreads();
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    region_begin();
    const int status = spawn_threads(2, args->grid, args->block, convolve, args);
    region_end();
    return status;
}
