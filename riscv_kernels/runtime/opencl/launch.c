/* The main program of an OpenCL kernel: runs it once over its range. */
#include "launch.h"

#include <stddef.h>

#include "metronome.h"
#include "sms.h"

/* entry.S */
extern const thread_function __opencl_entries[2];

opencl_range __opencl_range;
/* printf.c: long has 64 bits, as long long has in C. */
extern const int32_t __printf_long;
const int32_t __printf_long = 2;

_Static_assert(offsetof(opencl_range, local_bytes) == OPENCL_LOCAL_BYTES, "launch.h");

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

static dim3_t sizes(const uint32_t *values) { return (dim3_t){values[0], values[1], values[2]}; }

/* As spawn_threads(), but a work-group of one work-item may be a group too, and memory may limit how many there are. */
static int spawn(const opencl_launch *launch)
{
    const uint32_t threads = simt_num_threads();
    const uint32_t warps = simt_num_warps();
    const uint32_t sms = sms_of_launch();
    __spawn_context_t *context = &__spawn_context;
    __opencl_range = launch->range;
    context->__function = __opencl_entries[launch->range.local_bytes != 0];
    context->__argument = launch->arguments;
    context->__dimension = launch->range.dimension;
    context->__grid_dim = sizes(launch->range.groups);
    context->__block_dim = sizes(launch->range.local);
    context->__total = context->__grid_dim.x * context->__grid_dim.y * context->__grid_dim.z;
    context->__block_size = context->__block_dim.x * context->__block_dim.y * context->__block_dim.z;
    if (launch->single) {
        const uint32_t used = smaller(warps * sms, (context->__total - 1) / threads + 1);
        context->__group_warps = 1;
        context->__step = used * threads;
        run_threads(used, sms);
        return 0;
    }
    const uint32_t group_warps = (context->__block_size - 1) / threads + 1;
    if (group_warps > warps)
        return -1;
    const uint32_t groups = smaller(smaller(warps / group_warps, launch->resident) * sms, context->__total);
    context->__group_warps = group_warps;
    context->__step = groups;
    run_groups(groups, group_warps);
    return 0;
}

int main(void)
{
    region_begin();
    const int status = spawn(kernel_arguments());
    region_end();
    return status;
}
