/* Every thread writes down who it is; a cell that two threads write, or none, shows in its counter. */
#include "metronome.h"

typedef struct {
    uint32_t *results; /* 12 words a thread, in linear order of (block, thread) */
    uint32_t dimension;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t has_block;
} arguments;

static void note(const void *block)
{
    const arguments *const args = block;
    const uint32_t linear_block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const uint32_t linear_thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const uint32_t size = blockDim.x * blockDim.y * blockDim.z;
    volatile uint32_t *const cell = args->results + 12 * (linear_block * size + linear_thread);
    cell[0] += 1;
    cell[1] = blockIdx.x;
    cell[2] = blockIdx.y;
    cell[3] = blockIdx.z;
    cell[4] = threadIdx.x;
    cell[5] = threadIdx.y;
    cell[6] = threadIdx.z;
    cell[7] = simt_warp_id();
    cell[8] = simt_thread_id();
    cell[9] = (uint32_t)local_memory(16);
    cell[10] = simt_active_threads();
    uint32_t stack_pointer;
    __asm__("mv %0, sp" : "=r"(stack_pointer));
    cell[11] = stack_pointer;
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    return spawn_threads(args->dimension, args->grid, args->has_block ? args->block : 0, note, args);
}
