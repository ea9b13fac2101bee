/* Two sequences of length n, aligned: the score of each pair of beginnings, from those that are shorter by one element of
 * either or of both. One group of all threads goes through the table of (n + 1) x (n + 1) by diagonals, a barrier each.
 * The algorithm is Needleman and Wunsch's, as in Rodinia's nw; the code is ours. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    int32_t penalty;          /* for an element that is left out */
    const int32_t *likeness;  /* of each two elements, n x n */
    int32_t *scores;          /* first row and column at the beginning */
} arguments;

static int32_t greater(int32_t a, int32_t b) { return a > b ? a : b; }

static void align(const void *block)
{
    __syncthreads(); /* the launch is over for all: it is not measured */
    region_begin();
    const arguments *const args = block;
    const uint32_t n = args->n;
    for (uint32_t diagonal = 0; diagonal < 2 * n - 1; diagonal++) {
        const uint32_t first = diagonal < n ? 0 : diagonal - n + 1;
        const uint32_t last = diagonal < n ? diagonal : n - 1;
        for (uint32_t row = first + threadIdx.x; row <= last; row += blockDim.x) {
            const uint32_t column = diagonal - row;
            int32_t *const above = args->scores + row * (n + 1) + column;
            int32_t *const here = above + n + 1;
            const int32_t both = above[0] + args->likeness[row * n + column];
            here[1] = greater(both, greater(above[1], here[0]) - args->penalty);
        }
        __syncthreads();
    }
}

int main(void)
{
    const uint32_t groups = 1;
    const uint32_t threads = simt_num_warps() * simt_num_threads();
    const int status = spawn_threads(1, &groups, &threads, align, kernel_arguments());
    region_end();
    return status;
}
