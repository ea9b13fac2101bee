/* Functions that run before main, and after it: the toolchain puts these in place of main and exit in a program that has
 * any (sim/program/compiler/elf_cache.py, link.ld). They run on one lane of one warp, as main does. */
#include "metronome.h"

typedef void (*run_once)(void);

extern const run_once __preinit_array_start[], __preinit_array_end[], __init_array_start[], __init_array_end[];
extern const run_once __fini_array_start[], __fini_array_end[];

int __real_main(void);
int __wrap_main(void);
__attribute__((noreturn)) void __real_exit(int code);
__attribute__((noreturn)) void __wrap_exit(int code);

/* How many functions have still to run at the end; each runs once, even if one of them calls exit. */
static uint32_t left;

static void finish(void)
{
    while (left)
        __fini_array_start[--left]();
}

int __wrap_main(void)
{
    left = (uint32_t)(__fini_array_end - __fini_array_start);
    for (const run_once *each = __preinit_array_start; each != __preinit_array_end; each++)
        (*each)();
    for (const run_once *each = __init_array_start; each != __init_array_end; each++)
        (*each)();
    const int status = __real_main();
    finish();
    return status;
}

void __wrap_exit(int code)
{
    finish();
    __real_exit(code);
}
