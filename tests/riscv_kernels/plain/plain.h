/* A program of ordinary C: plain() of each thread writes four words. references.py has the same in Python. */
#include "metronome.h"
#include "string.h"

/* No a * b + c in one rounding: numpy has none. */
#pragma STDC FP_CONTRACT OFF

static void plain(uint32_t index, uint32_t *out);

typedef struct {
    uint32_t (*results)[4];
    uint32_t n;
} plain_arguments;

static void plain_thread(const void *block)
{
    const plain_arguments *const args = block;
    plain(blockIdx.x, args->results[blockIdx.x]);
}

int main(void)
{
    const plain_arguments *const args = kernel_arguments();
    return spawn_threads(1, &args->n, 0, plain_thread, args);
}

/* 16 bits that look random. */
static inline uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static inline uint32_t float_bits(float x) { return __builtin_bit_cast(uint32_t, x); }
