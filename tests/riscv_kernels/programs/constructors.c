/* Everything that runs before main and after it notes its number, in the order of the runs. */
#include "metronome.h"

static volatile uint32_t zero, five = 5;
static uint32_t order[16], count;

static void note(uint32_t number) { order[count++] = number; }

static void early(void) { note(1); }
__attribute__((section(".preinit_array"), used)) static void (*const before[])(void) = {early};
__attribute__((constructor)) static void third(void) { note(4); }
__attribute__((constructor(200))) static void second(void) { note(3); }
__attribute__((constructor(101))) static void first(void) { note(zero == 0 && five == 5 ? 2 : 99); }
__attribute__((destructor)) static void end(void) { note(6); }
__attribute__((destructor(101))) static void last(void)
{
    note(8);
    uint32_t *results = *(uint32_t *const *)kernel_arguments();
    for (uint32_t i = 0; i < 16; i++)
        results[i] = order[i];
    exit(7); /* no function runs a second time */
}
__attribute__((destructor(200))) static void next(void) { note(7); }

int main(void)
{
    note(5);
    const uint32_t *arguments = kernel_arguments();
    if (arguments[1])
        exit(0);
    return 0;
}
