/* C = A * B of n x n matrices, row by row in memory: one thread an element of C, k ascending, for floats fused. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    const TYPE *a;
    const TYPE *b;
    TYPE *c;
} arguments;

static void multiply_element(const void *block)
{
    const arguments *const args = block;
    const uint32_t n = args->n;
    const uint32_t row = blockIdx.y * n;
    const uint32_t column = blockIdx.x;
    const TYPE *a = args->a + row;
    const TYPE *const end = a + n;
    const TYPE *b = args->b + column;
    TYPE sum = 0;
    do {
        sum += *a * *b;
        a += 1;
        b += n;
    } while (a != end);
    args->c[row + column] = sum;
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    const uint32_t grid[2] = {args->n, args->n};
    region_begin();
    const int status = spawn_threads(2, grid, 0, multiply_element, args);
    region_end();
    return status;
}
