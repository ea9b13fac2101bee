/* The main program of an OpenCL kernel: runs it once over its range. */
#include "launch.h"

#include <stddef.h>

#include "metronome.h"

/* spawn.S, entry.S */
void __spawn_threads(uint32_t warps);
void __spawn_groups(uint32_t warps);
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
    spawn_context *context = &__spawn_context;
    __opencl_range = launch->range;
    context->function = __opencl_entries[launch->range.local_bytes != 0];
    context->argument = launch->arguments;
    context->dimension = launch->range.dimension;
    context->grid = sizes(launch->range.groups);
    context->block = sizes(launch->range.local);
    context->total = context->grid.x * context->grid.y * context->grid.z;
    context->block_size = context->block.x * context->block.y * context->block.z;
    if (launch->single) {
        const uint32_t used = smaller(warps, (context->total - 1) / threads + 1);
        context->group_warps = 1;
        context->step = used * threads;
        __spawn_threads(used);
        return 0;
    }
    const uint32_t group_warps = (context->block_size - 1) / threads + 1;
    if (group_warps > warps)
        return -1;
    const uint32_t groups = smaller(smaller(warps / group_warps, launch->resident), context->total);
    context->group_warps = group_warps;
    context->step = groups;
    __spawn_groups(groups * group_warps);
    return 0;
}

int main(void)
{
    region_begin();
    const int status = spawn(kernel_arguments());
    region_end();
    return status;
}
