/* The rows of a separable convolution: each pixel is the sum of 17 neighbours in its row, weighted. A block of threads
 * makes `steps` pixels a thread of one row: it loads them and those within the radius on either side into local
 * memory, then each thread sums its own up. The image in memory has so many zeros on either side, so no thread asks where it is.
 * The algorithm is that of convolutionSeparable of the CUDA SDK; the code is ours. */
#include "metronome.h"

#define RADIUS 8

typedef struct {
    uint32_t grid[2];     /* blocks: of a row, rows */
    uint32_t threads;     /* of a block */
    uint32_t steps;       /* pixels of a thread */
    uint32_t halo_steps;  /* times `threads` pixels are at least the radius */
    uint32_t source_width;
    uint32_t target_width;
    const TYPE *source;   /* begins halo_steps * threads zeros in front of the first pixel */
    const TYPE *weights;  /* 2 * RADIUS + 1 */
    TYPE *target;
} arguments;

static void convolve(const void *block)
{
    const arguments *const args = block;
    const uint32_t threads = args->threads;
    const uint32_t steps = args->steps;
    const uint32_t places = steps + 2 * args->halo_steps;
    TYPE *const mine = (TYPE *)local_memory(places * threads * sizeof(TYPE)) + threadIdx.x;
    const uint32_t first = blockIdx.x * steps * threads + threadIdx.x;

    const TYPE *source = args->source + blockIdx.y * args->source_width + first;
    TYPE *to = mine;
    for (uint32_t place = 0; place < places; place++, source += threads, to += threads)
        *to = *source;
    __syncthreads();

    TYPE *target = args->target + blockIdx.y * args->target_width + first;
    const TYPE *near = mine + args->halo_steps * threads - RADIUS;
    for (uint32_t step = 0; step < steps; step++, target += threads, near += threads) {
        TYPE sum = 0;
        for (uint32_t tap = 0; tap <= 2 * RADIUS; tap++)
            sum += near[tap] * args->weights[tap];
        *target = sum;
    }
    __syncthreads();
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    const uint32_t block[2] = {args->threads, 1};
    region_begin();
    const int status = spawn_threads(2, args->grid, block, convolve, args);
    region_end();
    return status;
}
