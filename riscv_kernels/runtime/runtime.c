/* The C half of the runtime: spawn_threads, the console, and the memory functions that compilers call. */
#include "metronome.h"

#include <stddef.h>

#include "library/names.h"
#include "sms.h"

__spawn_context_t __spawn_context;

_Static_assert(offsetof(__spawn_context_t, __function) == CONTEXT_FUNCTION, "context.h");
_Static_assert(offsetof(__spawn_context_t, __argument) == CONTEXT_ARGUMENT, "context.h");
_Static_assert(offsetof(__spawn_context_t, __total) == CONTEXT_TOTAL, "context.h");
_Static_assert(offsetof(__spawn_context_t, __step) == CONTEXT_STEP, "context.h");
_Static_assert(offsetof(__spawn_context_t, __dimension) == CONTEXT_DIMENSION, "context.h");
_Static_assert(offsetof(__spawn_context_t, __grid_dim.x) == CONTEXT_GRID_X, "context.h");
_Static_assert(offsetof(__spawn_context_t, __grid_dim.y) == CONTEXT_GRID_Y, "context.h");
_Static_assert(offsetof(__spawn_context_t, __grid_dim.z) == CONTEXT_GRID_Z, "context.h");
_Static_assert(offsetof(__spawn_context_t, __block_dim.x) == CONTEXT_BLOCK_X, "context.h");
_Static_assert(offsetof(__spawn_context_t, __block_dim.y) == CONTEXT_BLOCK_Y, "context.h");
_Static_assert(offsetof(__spawn_context_t, __block_dim.z) == CONTEXT_BLOCK_Z, "context.h");
_Static_assert(offsetof(__spawn_context_t, __block_size) == CONTEXT_BLOCK_SIZE, "context.h");
_Static_assert(offsetof(__spawn_context_t, __group_warps) == CONTEXT_WARPS, "context.h");
_Static_assert(sizeof(__spawn_context_t) == CONTEXT_BYTES, "context.h");

#ifdef METRONOME_SMS
_Static_assert(offsetof(__spawn_context_t, __mode) == CONTEXT_MODE, "context.h");
_Static_assert(offsetof(__spawn_context_t, __region) == CONTEXT_REGION, "context.h");
_Static_assert(offsetof(__spawn_context_t, __sm_warps) == CONTEXT_SM_WARPS, "context.h");
#endif

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
    const uint32_t sms = sms_of_launch();
    __spawn_context_t *context = &__spawn_context;
    context->__function = function;
    context->__argument = argument;
    context->__dimension = dimension;
    context->__grid_dim = sizes(dimension, grid);
    context->__block_dim = sizes(dimension, block);
    context->__total = context->__grid_dim.x * context->__grid_dim.y * context->__grid_dim.z;
    context->__block_size = context->__block_dim.x * context->__block_dim.y * context->__block_dim.z;
    if (context->__total == 0 || context->__block_size == 0)
        return 0;
    if (context->__block_size == 1) {
        const uint32_t used = smaller(warps * sms, (context->__total - 1) / threads + 1);
        context->__group_warps = 1;
        context->__step = used * threads;
        run_threads(used, sms);
        return 0;
    }
    const uint32_t group_warps = (context->__block_size - 1) / threads + 1;
    if (group_warps > warps)
        return -1;
    const uint32_t groups = smaller(warps / group_warps * sms, context->__total);
    context->__group_warps = group_warps;
    context->__step = groups;
    run_groups(groups, group_warps);
    return 0;
}

#ifdef METRONOME_SMS
/* What the SMs other than 0 do: their share of each launch, until main has ended. One lane of warp 0. */
void __sm_main(void);
void __sm_main(void)
{
    for (;;) {
        __sms_meet();
        if (__spawn_context.__mode == SMS_NOTHING)
            return;
        SIMT_CSR_WRITE(CSR_MREGION, __spawn_context.__region);
        sm_runs();
        SIMT_CSR_WRITE(CSR_MREGION, 0);
        __sms_meet();
    }
}
#endif

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
