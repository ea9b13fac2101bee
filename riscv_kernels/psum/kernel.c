/* Inclusive prefix sum. Each block of threads scans its elements in local memory (Hillis and Steele: one step and one
 * barrier per power of two), one thread sums the blocks' totals up, and every element adds the sum of the blocks before it. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    uint32_t blocks;     /* n / block_size, rounded up */
    uint32_t block_size;
    const TYPE *source;
    TYPE *target;
    TYPE *totals;        /* one for each block: first its sum, then the sum of all blocks before it */
} arguments;

#if TYPE_IS_FLOAT
#define SELECT(c, a, b) simt_select_float(c, a, b)
#else
#define SELECT(c, a, b) ((c) ? (a) : (b))
#endif

static void scan_block(const void *block)
{
    const arguments *const args = block;
    const uint32_t size = args->block_size;
    const uint32_t n = args->n;
    const uint32_t thread = threadIdx.x;
    const uint32_t i = blockIdx.x * size + thread;
    TYPE *from = local_memory(2 * size * sizeof(TYPE));
    TYPE *to = from + size;

    const uint32_t inside = i < n;
    TYPE sum = args->source[inside ? i : 0];
    sum = SELECT(inside, sum, (TYPE)0);
    from[thread] = sum;
    __syncthreads();
    for (uint32_t distance = 1; distance < size; distance <<= 1) {
        const uint32_t reaches = thread >= distance;
        const TYPE other = from[thread - (reaches ? distance : 0)];
        sum = SELECT(reaches, sum + other, sum);
        to[thread] = sum;
        TYPE *const next = from;
        from = to;
        to = next;
        __syncthreads();
    }
    if (inside)
        args->target[i] = sum;
    if (thread == size - 1)
        args->totals[blockIdx.x] = sum;
}

static void add_totals(const void *block)
{
    const arguments *const args = block;
    const uint32_t i = blockIdx.x;
    args->target[i] += args->totals[i / args->block_size];
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    region_begin();
    int status = spawn_threads(1, &args->blocks, &args->block_size, scan_block, args);
    TYPE before = 0;
    for (uint32_t i = 0; i < args->blocks; i++) {
        const TYPE total = args->totals[i];
        args->totals[i] = before;
        before += total;
    }
    status |= spawn_threads(1, &args->n, 0, add_totals, args);
    region_end();
    return status;
}
