/* The sum of each row of a matrix: one thread a row, so each lane reads its own lines, a word at a time. */
#include "metronome.h"

typedef struct {
    uint32_t rows;
    uint32_t columns;
    const TYPE *matrix;
    TYPE *sums;
} arguments;

static void add_row(const void *block)
{
    const arguments *const args = block;
    const TYPE *const row = args->matrix + blockIdx.x * args->columns;
    TYPE sum = 0;
    for (uint32_t column = 0; column < args->columns; column++)
        sum += row[column];
    args->sums[blockIdx.x] = sum;
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    region_begin();
    const int status = spawn_threads(1, &args->rows, 0, add_row, args);
    region_end();
    return status;
}
