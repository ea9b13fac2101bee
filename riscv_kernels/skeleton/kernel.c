/* The program for the machine: out[i] = factor * in[i] + i, one thread an element. Change it together with host.py.
 *
 * metronome.h has the thread mapping, barriers, local memory and the console. Threads may take different branches.
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
}

/* Runs on one thread only. It returns the exit code: 0 is success. */
int main(void)
{
    const arguments *const args = kernel_arguments();
    region_begin(); /* the measured region begins here .. */
    const int status = spawn_threads(1, &args->n, 0, scale, args);
    region_end(); /* .. and ends here */
    return status;
}
