/* Each block turns its row round through local memory, four times, its warps arriving at the barriers at different times. */
#include "metronome.h"

typedef struct {
    uint32_t *results; /* blocks x block_size words */
    uint32_t blocks;
    uint32_t block_size;
} arguments;

static void be_late(uint32_t steps)
{
    for (; steps > 0; steps--)
        __asm__ volatile("nop");
}

static void turn(const void *block)
{
    const arguments *const args = block;
    const uint32_t size = args->block_size;
    const uint32_t thread = threadIdx.x;
    volatile uint32_t *const row = local_memory(size * sizeof(uint32_t));
    uint32_t value = blockIdx.x * 1000 + thread;
    for (uint32_t round = 0; round < 4; round++) {
        be_late((simt_warp_id() + round) % 3 * 7);
        row[thread] = value;
        __syncthreads();
        be_late((simt_warp_id() + round + 1) % 3 * 50);
        value = row[thread + 1 < size ? thread + 1 : 0] + round;
        /* After the last round nothing but the runtime keeps the next block from overwriting what others still read. */
        if (round < 3)
            __syncthreads();
    }
    args->results[blockIdx.x * size + thread] = value;
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    return spawn_threads(1, &args->blocks, &args->block_size, turn, args);
}
