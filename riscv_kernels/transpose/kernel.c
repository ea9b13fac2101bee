/* The transpose of a matrix, row by row in memory: one thread an element; reads coalesce, writes do not. */
#include "metronome.h"

typedef struct {
    uint32_t rows;
    uint32_t columns;
    const TYPE *source;
    TYPE *target;
} arguments;

static void move_element(const void *block)
{
    const arguments *const args = block;
    const uint32_t row = blockIdx.y;
    const uint32_t column = blockIdx.x;
    args->target[column * args->rows + row] = args->source[row * args->columns + column];
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    const uint32_t grid[2] = {args->columns, args->rows};
    region_begin();
    const int status = spawn_threads(2, grid, 0, move_element, args);
    region_end();
    return status;
}
