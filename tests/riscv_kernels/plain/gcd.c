#include "plain.h"

static uint32_t gcd(uint32_t a, uint32_t b)
{
    return b ? gcd(b, a % b) : a;
}

static void plain(uint32_t index, uint32_t *out)
{
    uint32_t state = index, a = draw(&state) % 1000 + 1, b = draw(&state) % 1000 + 1;
    out[0] = gcd(a, b);
    out[1] = a / out[0] * b;
    while (a != b) {
        if (a > b)
            a -= b;
        else
            b -= a;
        out[2]++;
    }
    out[3] = a;
}
