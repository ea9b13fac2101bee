/* C = A * B by one group of all threads: A is n x inner, B inner x n, row by row in memory. Each thread computes an
 * element of C, then the one as many further on as there are threads; k ascending, for floats fused.
 * The algorithm is that of Vortex's example sgemm; the code is ours. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    uint32_t inner;
    const TYPE *a;
    const TYPE *b;
    TYPE *c;
} arguments;

static void multiply(const void *block)
{
    __syncthreads(); /* the launch is over for all: it is not measured */
    region_begin();
    const arguments *const args = block;
    const uint32_t n = args->n;
    const uint32_t inner = args->inner;
    for (uint32_t i = threadIdx.x; i < n * n; i += blockDim.x) {
        const uint32_t row = i / n;
        const uint32_t column = i % n;
        const TYPE *a = args->a + row * inner;
        const TYPE *b = args->b + column;
        TYPE sum = 0;
        for (uint32_t k = 0; k < inner; k++) {
            sum += *a * *b;
            a += 1;
            b += n;
        }
        args->c[i] = sum;
    }
}

int main(void)
{
    const uint32_t groups = 1;
    const uint32_t threads = simt_num_warps() * simt_num_threads();
    const int status = spawn_threads(1, &groups, &threads, multiply, kernel_arguments());
    region_end();
    return status;
}
