#include "plain.h"

static int is_prime(uint32_t n)
{
    if (n < 2)
        return 0;
    for (uint32_t d = 2; d * d <= n; d++)
        if (n % d == 0)
            return 0;
    return 1;
}

static void plain(uint32_t index, uint32_t *out)
{
    /* The sieve has less of it in some threads. */
    uint8_t composite[100] = {0};
    const uint32_t end = 30 + index;
    for (uint32_t i = 2; i < end; i++) {
        if (composite[i])
            continue;
        out[0]++;
        out[1] = i;
        for (uint32_t j = 2 * i; j < end; j += i)
            composite[j] = 1;
    }
    out[2] = (uint32_t)is_prime(index * 3 + 1);
    for (uint32_t n = index; !is_prime(n); n++)
        out[3]++;
}
