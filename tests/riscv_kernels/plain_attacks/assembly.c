#include "../plain/plain.h"

#define TWICE(x) __asm__ volatile("addi %0, %0, 1\n\tslli %0, %0, 1" : "+r"(x))
#define NOTHING __asm__ volatile("nop # a; b\n\t# only: a comment\n\tli t6, 5; li t5, 6" ::: "t6", "t5", "memory")
static void plain(uint32_t index, uint32_t *out)
{
    uint32_t s = index, x = index;
    for (uint32_t i = 0; i < index % 7; i++) {
        if (draw(&s) & 1) { TWICE(x); if (x & 8) continue; NOTHING; } else { NOTHING; x ^= 3; }
        if (x > 400) break;
        TWICE(x);
    }
    out[0] = x;
}
