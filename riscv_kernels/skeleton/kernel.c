/* What runs on the machine: out[i] = factor * in[i] + i, one thread an element. Change it together with host.py.
 *
 * metronome.h has the thread mapping, barriers, local memory and the console; the rules for branches are at its top.
 */
#include "metronome.h"

/* The argument block, as host.py packs it. TYPE is int32_t, or float with `--type float32`. */
typedef struct {
    uint32_t n;
    TYPE factor;
    const TYPE *in;
    TYPE *out;
} arguments;

/* Runs once for every thread. */
static void scale(const void *block)
{
    const arguments *const args = block;
    const uint32_t i = blockIdx.x;
    args->out[i] = args->factor * args->in[i] + (TYPE)i;

    /* A branch on data that differs between the threads of a warp is a fault, unless it stands in these macros:
     *     SIMT_IF(args->in[i] < 0) { ... } SIMT_ELSE { ... } SIMT_ENDIF
     */
}

/* Runs on one thread alone. What it returns is the exit code: 0 is success. */
int main(void)
{
    const arguments *const args = kernel_arguments();
    region_begin(); /* what is measured begins here .. */
    const int status = spawn_threads(1, &args->n, 0, scale, args);
    region_end(); /* .. and ends here */
    return status;
}
