/* The cheapest way down a wall of rows x n cells, to each cell of its last row: from a cell one goes down, or down and one
 * aside. One group of all threads goes row by row; the rows' costs are in two buffers in turn, and a barrier ends a row.
 * The algorithm is that of Rodinia's pathfinder; the code is ours. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    uint32_t rows;
    const int32_t *wall;
    int32_t *costs; /* of the first row at the beginning, and of each second one */
    int32_t *other;
} arguments;

static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

static void descend(const void *block)
{
    __syncthreads(); /* the launch is over for all: it is not measured */
    region_begin();
    const arguments *const args = block;
    const uint32_t n = args->n;
    int32_t *from = args->costs;
    int32_t *to = args->other;
    for (uint32_t row = 1; row < args->rows; row++) {
        for (uint32_t column = threadIdx.x; column < n; column += blockDim.x) {
            const int32_t left = from[column > 0 ? column - 1 : column];
            const int32_t right = from[column < n - 1 ? column + 1 : column];
            to[column] = args->wall[row * n + column] + smaller(smaller(left, right), from[column]);
        }
        __syncthreads();
        int32_t *const next = from;
        from = to;
        to = next;
    }
}

int main(void)
{
    const uint32_t groups = 1;
    const uint32_t threads = simt_num_warps() * simt_num_threads();
    const int status = spawn_threads(1, &groups, &threads, descend, kernel_arguments());
    region_end();
    return status;
}
