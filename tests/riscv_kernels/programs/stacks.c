/* Stacks in earnest: arrays of bytes, half-words and words, recursion, writes to other threads' stacks, and copies over
 * the borders of stacks. One block of threads. */
#include "metronome.h"

#include <stddef.h>

void *memcpy(void *target, const void *source, size_t bytes);

#define CELLS 16
#define COPY 200

typedef struct {
    uint32_t *results;
    uint32_t threads;
    uint32_t border[4];
} arguments;

static volatile uint8_t *shared[1024];
static uint8_t pattern[COPY], returned[COPY];

/* Depth is uniform, values are not. */
__attribute__((noinline)) static uint32_t fold(uint32_t depth, uint32_t value)
{
    volatile uint16_t halves[3] = {(uint16_t)value, (uint16_t)(value >> 3), 7};
    volatile uint32_t word = value * 3;
    if (depth == 0)
        return word + halves[1];
    const uint32_t inner = fold(depth - 1, value + depth);
    return inner + word + halves[0] * halves[2];
}

static void thread(const void *block)
{
    const arguments *const args = block;
    const uint32_t i = threadIdx.x, n = args->threads;
    volatile uint8_t bytes[CELLS];
    volatile uint16_t halves[CELLS];
    volatile uint32_t words[CELLS];
    for (uint32_t k = 0; k < CELLS; k++) {
        bytes[k] = (uint8_t)(i + k);
        halves[k] = (uint16_t)(i * 256 + k);
        words[k] = i << 16 | k;
    }
    shared[i] = bytes;
    __syncthreads();
    /* Another lane's stack (or another warp's), by bytes, at an index that differs between the lanes. */
    volatile uint8_t *const other = shared[i + 1 == n ? 0 : i + 1];
    other[(i * 5) % CELLS] = (uint8_t)(200 + i);
    __syncthreads();
    uint32_t sum = 0;
    for (uint32_t k = 0; k < CELLS; k++)
        sum += bytes[k] * (k + 1) + halves[(k + i) % CELLS] + words[(k * 3 + i) % CELLS];
    args->results[2 * i] = sum;
    args->results[2 * i + 1] = fold(4, i);
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    const uint32_t one = 1;
    for (uint32_t k = 0; k < COPY; k++)
        pattern[k] = (uint8_t)(k * 7 + 1);
    int wrong = 0;
    for (uint32_t k = 0; k < 4; k++) {
        uint8_t *const place = (uint8_t *)args->border[k] - COPY / 2;
        memcpy(place, pattern, COPY);
        memcpy(returned, place, COPY);
        for (uint32_t j = 0; j < COPY; j++)
            wrong += returned[j] != (uint8_t)(j * 7 + 1);
    }
    const int status = spawn_threads(1, &one, &args->threads, thread, args);
    return wrong ? wrong : status;
}
