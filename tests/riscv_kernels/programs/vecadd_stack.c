/* vecadd whose threads live on their stacks: c[i] = a[i] + b[i] by way of a local array.
 *
 * With CONTEXT a thread's block and thread indices are on its stack too, as Vortex's run time keeps them in the thread's
 * own memory: the spawner writes them, the kernel reads them. With CALLBACK it is called by way of a function that saves
 * and restores ra and all of s0 to s11 there, as the callback of Vortex's spawner does by the standard ABI.
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

/* Used: of the callback the compiler sees no call. */
__attribute__((used)) static void thread(const void *block)
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

#ifdef CALLBACK
__attribute__((naked, noinline)) static void callback(const void *block)
{
    __asm__ volatile(
        "addi sp, sp, -64\n"
        "sw ra, 60(sp)\n sw s0, 56(sp)\n sw s1, 52(sp)\n sw s2, 48(sp)\n sw s3, 44(sp)\n sw s4, 40(sp)\n"
        "sw s5, 36(sp)\n sw s6, 32(sp)\n sw s7, 28(sp)\n sw s8, 24(sp)\n sw s9, 20(sp)\n sw s10, 16(sp)\n"
        "sw s11, 12(sp)\n"
        "call thread\n"
        "lw ra, 60(sp)\n lw s0, 56(sp)\n lw s1, 52(sp)\n lw s2, 48(sp)\n lw s3, 44(sp)\n lw s4, 40(sp)\n"
        "lw s5, 36(sp)\n lw s6, 32(sp)\n lw s7, 28(sp)\n lw s8, 24(sp)\n lw s9, 20(sp)\n lw s10, 16(sp)\n"
        "lw s11, 12(sp)\n"
        "addi sp, sp, 64\n"
        "ret");
}
#else
#define callback thread
#endif

int main(void)
{
    const arguments *const args = kernel_arguments();
    region_begin();
    const int status = spawn_threads(1, &args->n, 0, callback, args);
    region_end();
    return status;
}
