/* The functions of math.h: every thread takes every `stride`-th pair of arguments, for each function in turn. */
#include <math.h>

#include "metronome.h"

typedef struct {
    float *results;
    uint32_t count, threads;
    const float *x, *y;
} arguments;

#define FUNCTIONS(F) F(expf) F(exp2f) F(logf) F(log2f) F(log10f) F(sinf) F(cosf) F(tanf) F(tanhf) F(erff) \
                     F(floorf) F(ceilf) F(truncf) F(roundf) F(rintf)

static void evaluate(const void *block)
{
    const arguments *const args = block;
    const uint32_t count = args->count;
    /* The last round may have nothing left for some lanes: they do the last one again. */
    for (uint32_t base = 0; base < count; base += args->threads) {
        const uint32_t own = base + blockIdx.x;
        const uint32_t i = own < count ? own : count - 1;
        const float x = args->x[i];
        float *result = args->results + i;
        *result = powf(x, args->y[i]);
#define EVALUATE(name)  \
    result += count;    \
    *result = name(x);
        FUNCTIONS(EVALUATE)
        EVALUATE(sqrtf)
        EVALUATE(fabsf)
        result += count;
        *result = fminf(x, args->y[i]);
        result += count;
        *result = copysignf(x, args->y[i]);
    }
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    return spawn_threads(1, &args->threads, 0, evaluate, args);
}
