/* Operations of float: every thread takes every `stride`-th triple of arguments, for each operation in turn. */
#include <math.h>

#include "metronome.h"

typedef struct {
    uint32_t *results;
    uint32_t count, threads;
    const uint32_t *x, *y, *z;
} arguments;

static float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }
static uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }

/* Lanes that leave the loop at different times, and take different sides. */
static float chain(float x, float y)
{
    for (int step = 0; step < 5 && !(x > 1e30f); step++)
        if (x < y)
            x = x * 3.0f + y;
        else
            x = x / 5.0f - 1.0f;
    return x;
}

/* In the order of test_soft_float.py. */
static void evaluate(const void *block)
{
    const arguments *const args = block;
    const uint32_t count = args->count;
    for (uint32_t base = 0; base < count; base += args->threads) {
        const uint32_t own = base + blockIdx.x;
        const uint32_t i = own < count ? own : count - 1;
        const uint32_t word = args->x[i];
        const float x = float_of(word), y = float_of(args->y[i]), z = float_of(args->z[i]);
        const uint64_t wide = (uint64_t)word << 32 | args->y[i];
        uint32_t *result = args->results + i;
#define STORE(value) do { *result = (value); result += count; } while (0)
        STORE(bits_of(x + y));
        STORE(bits_of(x - y));
        STORE(bits_of(x * y));
        STORE(bits_of(x / y));
        STORE(bits_of(sqrtf(x)));
        STORE(bits_of(fminf(x, y)));
        STORE(bits_of(fmaxf(x, y)));
        STORE(x < y);
        STORE(x <= y);
        STORE(x > y);
        STORE(x >= y);
        STORE(x == y);
        STORE(x != y);
        STORE(__builtin_isunordered(x, y));
        STORE((uint32_t)(int32_t)x);
        STORE((uint32_t)x);
        STORE(bits_of((float)(int32_t)word));
        STORE(bits_of((float)word));
        STORE(bits_of(fmaf(x, y, z)));
        STORE(bits_of(x * y + z));
        STORE(bits_of(x * y - z));
        STORE(bits_of(z - x * y));
        STORE(bits_of(-x));
        STORE((uint32_t)((uint64_t)(int64_t)x >> 32));
        STORE((uint32_t)(uint64_t)x);
        STORE(bits_of((float)(int64_t)wide));
        STORE(bits_of((float)wide));
        STORE((uint32_t)__builtin_lrintf(x));
        STORE((uint32_t)__builtin_lroundf(x));
        STORE(bits_of(__builtin_floorf(x) + 0.0f));
        STORE(bits_of(__builtin_rintf(x) + 0.0f));
        STORE(bits_of(chain(x, y)));
    }
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    return spawn_threads(1, &args->threads, 0, evaluate, args);
}
