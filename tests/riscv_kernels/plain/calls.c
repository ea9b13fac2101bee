#include "plain.h"

/* Calls in branches and loops, recursion in both arms, and calls of each other. */
static uint32_t odd(uint32_t n);
static __attribute__((noinline)) uint32_t even(uint32_t n) { return n == 0 ? 1 : odd(n - 1); }
static __attribute__((noinline)) uint32_t odd(uint32_t n) { return n == 0 ? 0 : even(n - 1); }

static uint32_t ackermann(uint32_t m, uint32_t n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

static uint32_t fibonacci(uint32_t n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

static __attribute__((noinline)) uint32_t power(uint32_t base, uint32_t exponent)
{
    uint32_t result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1)
            result *= base;
    return result;
}

static void plain(uint32_t index, uint32_t *out)
{
    out[0] = index % 3 ? even(index % 17) : odd(index % 13);
    out[1] = ackermann(index % 3, index % 4);
    out[2] = index % 2 ? fibonacci(index % 9) : power(3, index % 11);
    for (uint32_t i = 0; i < index % 5; i++)
        if (power(i, 2) % 3 == 1)
            out[3] += power(2, fibonacci(i));
}
