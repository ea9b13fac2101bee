/* Sort by rank in one group of all threads: each thread counts the elements smaller than its own (of equal ones, those
 * before it), which is its place. All threads of a warp read the same element at a time.
 * The algorithm is that of Vortex's example psort; the code is ours. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    const TYPE *source;
    TYPE *target;
} arguments;

static void sort(const void *block)
{
    __syncthreads(); /* the launch is over for all: it is not measured */
    region_begin();
    const arguments *const args = block;
    const uint32_t n = args->n;
    for (uint32_t own = threadIdx.x; own < n; own += blockDim.x) {
        const TYPE value = args->source[own];
        uint32_t rank = 0;
        for (uint32_t i = 0; i < n; i++) {
            const TYPE other = args->source[i];
            rank += other < value || (other == value && i < own);
        }
        args->target[rank] = value;
    }
}

int main(void)
{
    const uint32_t groups = 1;
    const uint32_t threads = simt_num_warps() * simt_num_threads();
    const int status = spawn_threads(1, &groups, &threads, sort, kernel_arguments());
    region_end();
    return status;
}
