/* The C half of the runtime: spawn_threads, the console, and the memory functions that compilers call. */
#include "metronome.h"

#include <stddef.h>

#include "library/names.h"

spawn_context __spawn_context;

_Static_assert(offsetof(spawn_context, function) == CONTEXT_FUNCTION, "context.h");
_Static_assert(offsetof(spawn_context, argument) == CONTEXT_ARGUMENT, "context.h");
_Static_assert(offsetof(spawn_context, total) == CONTEXT_TOTAL, "context.h");
_Static_assert(offsetof(spawn_context, step) == CONTEXT_STEP, "context.h");
_Static_assert(offsetof(spawn_context, dimension) == CONTEXT_DIMENSION, "context.h");
_Static_assert(offsetof(spawn_context, grid.x) == CONTEXT_GRID_X, "context.h");
_Static_assert(offsetof(spawn_context, grid.y) == CONTEXT_GRID_Y, "context.h");
_Static_assert(offsetof(spawn_context, grid.z) == CONTEXT_GRID_Z, "context.h");
_Static_assert(offsetof(spawn_context, block.x) == CONTEXT_BLOCK_X, "context.h");
_Static_assert(offsetof(spawn_context, block.y) == CONTEXT_BLOCK_Y, "context.h");
_Static_assert(offsetof(spawn_context, block.z) == CONTEXT_BLOCK_Z, "context.h");
_Static_assert(offsetof(spawn_context, block_size) == CONTEXT_BLOCK_SIZE, "context.h");
_Static_assert(offsetof(spawn_context, group_warps) == CONTEXT_WARPS, "context.h");
_Static_assert(sizeof(spawn_context) == CONTEXT_BYTES, "context.h");

/* spawn.S */
void __spawn_threads(uint32_t warps);
void __spawn_groups(uint32_t warps);

static dim3_t sizes(uint32_t dimension, const uint32_t *values)
{
    dim3_t result = {1, 1, 1};
    if (values) {
        result.x = values[0];
        if (dimension > 1)
            result.y = values[1];
        if (dimension > 2)
            result.z = values[2];
    }
    return result;
}

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

WEAK int spawn_threads(uint32_t dimension, const uint32_t *grid, const uint32_t *block, thread_function function,
                       const void *argument)
{
    const uint32_t threads = simt_num_threads();
    const uint32_t warps = simt_num_warps();
    spawn_context *context = &__spawn_context;
    context->function = function;
    context->argument = argument;
    context->dimension = dimension;
    context->grid = sizes(dimension, grid);
    context->block = sizes(dimension, block);
    context->total = context->grid.x * context->grid.y * context->grid.z;
    context->block_size = context->block.x * context->block.y * context->block.z;
    if (context->total == 0 || context->block_size == 0)
        return 0;
    if (context->block_size == 1) {
        const uint32_t used = smaller(warps, (context->total - 1) / threads + 1);
        context->group_warps = 1;
        context->step = used * threads;
        __spawn_threads(used);
        return 0;
    }
    const uint32_t group_warps = (context->block_size - 1) / threads + 1;
    if (group_warps > warps)
        return -1;
    const uint32_t groups = smaller(warps / group_warps, context->total);
    context->group_warps = group_warps;
    context->step = groups;
    __spawn_groups(groups * group_warps);
    return 0;
}

WEAK void console_puts(const char *text)
{
    while (*text)
        console_putchar(*text++);
}

WEAK void console_hex(uint32_t value)
{
    for (int shift = 28; shift >= 0; shift -= 4) {
        const uint32_t digit = value >> shift & 15;
        console_putchar((char)(digit + (digit > 9 ? 'a' - 10 : '0')));
    }
}

WEAK void *memcpy(void *target, const void *source, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((char *)target)[i] = ((const char *)source)[i];
    return target;
}

WEAK void *memset(void *target, int value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((char *)target)[i] = (char)value;
    return target;
}
