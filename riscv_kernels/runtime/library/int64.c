/* 64-bit division, which the compiler calls: a bit a step, the same number of steps in every lane. Division by zero
 * gives the machine's results: all ones, and the dividend as the remainder. */
#include <stdint.h>

uint64_t __udivdi3(uint64_t dividend, uint64_t divisor);
uint64_t __umoddi3(uint64_t dividend, uint64_t divisor);
int64_t __divdi3(int64_t dividend, int64_t divisor);
int64_t __moddi3(int64_t dividend, int64_t divisor);

typedef struct {
    uint64_t quotient, rest;
} division;

static inline uint64_t spread(uint32_t bit)
{
    uint32_t mask = 0u - bit;
    __asm__("" : "+r"(mask)); /* else the compiler makes a branch of it */
    return (uint64_t)mask << 32 | mask;
}

static inline division divide(uint64_t dividend, uint64_t divisor)
{
    uint64_t rest = 0; /* below 2^63 before the last step, so no shift loses a bit */
    for (uint32_t step = 0; step < 64; step++) {
        rest = rest << 1 | dividend >> 63;
        const uint64_t fits = spread(rest >= divisor);
        rest -= divisor & fits;
        dividend = dividend << 1 | (fits & 1);
    }
    return (division){dividend, rest};
}

static inline uint64_t negated(uint64_t value, uint64_t mask) { return (value ^ mask) - mask; }
static inline uint64_t sign(int64_t value) { return (uint64_t)(value >> 63); }

uint64_t __udivdi3(uint64_t dividend, uint64_t divisor) { return divide(dividend, divisor).quotient; }
uint64_t __umoddi3(uint64_t dividend, uint64_t divisor) { return divide(dividend, divisor).rest; }

int64_t __divdi3(int64_t dividend, int64_t divisor)
{
    const uint64_t below = sign(dividend), by = sign(divisor);
    /* By zero: -1 whatever the dividend's sign. */
    const uint64_t turned = (below ^ by) & ~spread(divisor == 0);
    return (int64_t)negated(divide(negated((uint64_t)dividend, below), negated((uint64_t)divisor, by)).quotient, turned);
}

int64_t __moddi3(int64_t dividend, int64_t divisor)
{
    const uint64_t below = sign(dividend), by = sign(divisor);
    return (int64_t)negated(divide(negated((uint64_t)dividend, below), negated((uint64_t)divisor, by)).rest, below);
}
