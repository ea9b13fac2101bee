/* Convolution of an n x n image with 3 x 3 weights, one thread a pixel. The image in memory has a border of zeros all
 * around, so it is (n + 2) x (n + 2), and no thread has to ask where it is.
 * The algorithm is that of Vortex's example conv3; the code is ours. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    const TYPE *image;
    const TYPE *weights;
    TYPE *target;
} arguments;

static void convolve_pixel(const void *block)
{
    const arguments *const args = block;
    const uint32_t column = blockIdx.x;
    const uint32_t row = blockIdx.y;
    const uint32_t width = args->n + 2;
    TYPE sum = 0;
    for (uint32_t y = 0; y < 3; y++)
        for (uint32_t x = 0; x < 3; x++)
            sum += args->image[(row + y) * width + column + x] * args->weights[3 * y + x];
    args->target[row * args->n + column] = sum;
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    const uint32_t grid[2] = {args->n, args->n};
    region_begin();
    const int status = spawn_threads(2, grid, 0, convolve_pixel, args);
    region_end();
    return status;
}
