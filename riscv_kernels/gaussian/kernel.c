/* A system of n linear equations, brought into a triangle without pivoting: for each column first the factors of the rows
 * below the diagonal, a thread a row, then these rows less their factor times the column's row, a thread an element.
 * The right-hand sides are the last column of the n x (n + 1) matrix. Each of the two is a separate launch.
 * The algorithm is that of Rodinia's gaussian; the code is ours. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    float *matrix;
    float *factors; /* of the rows, for the column that is worked on */
} arguments;

typedef struct {
    arguments given;
    uint32_t column;
} work;

static void divide(const void *block)
{
    const work *const args = block;
    const uint32_t column = args->column;
    const uint32_t width = args->given.n + 1;
    const uint32_t row = column + 1 + blockIdx.x;
    const float *const matrix = args->given.matrix;
    args->given.factors[row] = matrix[row * width + column] / matrix[column * width + column];
}

static void subtract(const void *block)
{
    const work *const args = block;
    const uint32_t width = args->given.n + 1;
    const uint32_t column = args->column + blockIdx.x;
    const uint32_t row = args->column + 1 + blockIdx.y;
    float *const matrix = args->given.matrix;
    matrix[row * width + column] -= args->given.factors[row] * matrix[args->column * width + column];
}

int main(void)
{
    static work args;
    args.given = *(const arguments *)kernel_arguments();
    int status = 0;
    region_begin();
    for (args.column = 0; args.column + 1 < args.given.n; args.column++) {
        const uint32_t rows = args.given.n - args.column - 1;
        const uint32_t rest[2] = {args.given.n + 1 - args.column, rows};
        status |= spawn_threads(1, &rows, 0, divide, &args);
        status |= spawn_threads(2, rest, 0, subtract, &args);
    }
    region_end();
    return status;
}
