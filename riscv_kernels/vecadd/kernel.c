/* c[i] = a[i] + b[i]: one thread an element. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    const TYPE *a;
    const TYPE *b;
    TYPE *c;
} arguments;

static void add_element(const void *block)
{
    const arguments *const args = block;
    const uint32_t i = blockIdx.x;
    args->c[i] = args->a[i] + args->b[i];
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    region_begin();
    const int status = spawn_threads(1, &args->n, 0, add_element, args);
    region_end();
    return status;
}
