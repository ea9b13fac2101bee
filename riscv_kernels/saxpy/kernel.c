/* y[i] = alpha * x[i] + y[i]: one thread an element; for floats one fused operation. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    TYPE alpha;
    const TYPE *x;
    TYPE *y;
} arguments;

static void update_element(const void *block)
{
    const arguments *const args = block;
    const uint32_t i = blockIdx.x;
    args->y[i] = args->alpha * args->x[i] + args->y[i];
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    region_begin();
    const int status = spawn_threads(1, &args->n, 0, update_element, args);
    region_end();
    return status;
}
