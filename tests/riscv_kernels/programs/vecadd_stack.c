/* vecadd whose threads live on their stacks: c[i] = a[i] + b[i] by way of a local array.
 *
 * With CONTEXT a thread's block and thread indices are on its stack too, as Vortex's run time keeps them in the thread's
 * own memory: the spawner writes them, the kernel reads them.
 */
#include "metronome.h"

typedef struct {
    uint32_t n;
    const uint32_t *a;
    const uint32_t *b;
    uint32_t *c;
} arguments;

typedef struct {
    dim3_t block, thread;
} context;

/* Out of line and volatile: the array has to be in memory. */
__attribute__((noinline)) static void add(volatile uint32_t *mine)
{
    mine[2] = mine[0] + mine[1];
}

__attribute__((noinline)) static void add_element(const arguments *args, uint32_t i)
{
    volatile uint32_t mine[3];
    mine[0] = args->a[i];
    mine[1] = args->b[i];
    add(mine);
    args->c[i] = mine[2];
}

#ifdef CONTEXT
__attribute__((noinline)) static void in_context(const arguments *args, volatile context *own)
{
    add_element(args, own->block.x + own->thread.x);
}
#endif

static void thread(const void *block)
{
#ifdef CONTEXT
    volatile context own;
    own.block.x = blockIdx.x;
    own.block.y = blockIdx.y;
    own.block.z = blockIdx.z;
    own.thread.x = threadIdx.x;
    own.thread.y = threadIdx.y;
    own.thread.z = threadIdx.z;
    in_context(block, &own);
#else
    add_element(block, blockIdx.x);
#endif
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    region_begin();
    const int status = spawn_threads(1, &args->n, 0, thread, args);
    region_end();
    return status;
}
