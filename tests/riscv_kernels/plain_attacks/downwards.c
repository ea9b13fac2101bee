#include "../plain/plain.h"

/* Only a pointer behind the array is there; the array lies below it. */
static __attribute__((noinline)) void fill(volatile uint32_t *end, uint32_t x)
{
    for (int i = 0; i < 8; i++)
        *--end = x;
}

static void plain(uint32_t index, uint32_t *out)
{
    volatile uint32_t a[8];
    a[3] = 1;
    fill(a + 8, index & 1);
    if (a[3]) {
        out[0] = 7;
        __asm__ volatile("");
        out[2] += index;
    }
    out[1] = a[3];
}
