/* A grid whose blocks compute for different times. Block b of THREADS threads makes STEPS steps, and HEAVY times as many
 * if b is a multiple of EVERY. Thread t stores its value in values[b][t]. */
#include "metronome.h"

#ifndef BLOCKS
#define BLOCKS 64
#endif
#ifndef THREADS
#define THREADS 16
#endif
#ifndef STEPS
#define STEPS 100
#endif
#ifndef EVERY
#define EVERY 4
#endif
#ifndef HEAVY
#define HEAVY 1
#endif

uint32_t values[BLOCKS][THREADS];

static void compute(const void *nothing)
{
    (void)nothing;
    const uint32_t block = blockIdx.x;
    const uint32_t steps = block % EVERY == 0 ? STEPS * HEAVY : STEPS;
    uint32_t value = block * THREADS + threadIdx.x;
    for (uint32_t i = 0; i < steps; i++)
        value = value * 1664525u + 1013904223u;
    values[block][threadIdx.x] = value;
}

int main(void)
{
    const uint32_t blocks = BLOCKS, threads = THREADS;
    region_begin();
    const int status = spawn_threads(1, &blocks, &threads, compute, 0);
    region_end();
    return status;
}
