/* The forward step of a layer: each of 8 outputs is the sum of all inputs times its weights, by one group of all threads.
 * A thread sums the products of its inputs; then the threads' sums are added in local memory as a tree, by pairs.
 * The algorithm is that of Rodinia's backprop (its layer forward kernel); the code is ours. */
#include "metronome.h"

#define OUTPUTS 8

typedef struct {
    uint32_t inputs;
    const float *values;
    const float *weights; /* a row of OUTPUTS for each input */
    float *sums;
} arguments;

static void forward(const void *block)
{
    __syncthreads(); /* the launch is over for all: it is not measured */
    region_begin();
    const arguments *const args = block;
    const uint32_t me = threadIdx.x;
    const uint32_t threads = blockDim.x;
    volatile float *const parts = local_memory(threads * sizeof(float));
    for (uint32_t output = 0; output < OUTPUTS; output++) {
        float sum = 0;
        for (uint32_t i = me; i < args->inputs; i += threads)
            sum += args->values[i] * args->weights[i * OUTPUTS + output];
        parts[me] = sum;
        for (uint32_t step = 1; step < threads; step *= 2) {
            __syncthreads();
            if (me % (2 * step) == 0 && me + step < threads)
                parts[me] += parts[me + step];
        }
        if (me == 0)
            args->sums[output] = parts[0];
        __syncthreads();
    }
}

int main(void)
{
    const uint32_t groups = 1;
    const uint32_t threads = simt_num_warps() * simt_num_threads();
    const int status = spawn_threads(1, &groups, &threads, forward, kernel_arguments());
    region_end();
    return status;
}
