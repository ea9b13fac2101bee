/* vecadd whose threads keep their elements on the stack: c[i] = a[i] + b[i] by way of a local array. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    const uint32_t *a;
    const uint32_t *b;
    uint32_t *c;
} arguments;

/* Out of line and volatile: the array has to be in memory. */
__attribute__((noinline)) static void add(volatile uint32_t *mine)
{
    mine[2] = mine[0] + mine[1];
}

static void add_element(const void *block)
{
    const arguments *const args = block;
    const uint32_t i = blockIdx.x;
    volatile uint32_t mine[3];
    mine[0] = args->a[i];
    mine[1] = args->b[i];
    add(mine);
    args->c[i] = mine[2];
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    region_begin();
    const int status = spawn_threads(1, &args->n, 0, add_element, args);
    region_end();
    return status;
}
