#include "../plain/plain.h"

static __attribute__((noinline)) uint64_t gcd(uint64_t a, uint64_t b) { while (b) { uint64_t t = a % b; a = b; b = t; } return a; }
static void plain(uint32_t index, uint32_t *out)
{
    uint32_t s = index;
    int64_t x = (int64_t)((uint64_t)draw(&s) << (index % 45)) - 12345678901ll;
    uint64_t y = ((uint64_t)draw(&s) << (index % 37)) + 1;
    if (index % 3) x /= (int64_t)y; else x %= (int64_t)y;
    if (x < 0 && index & 1) x = -x * 7;
    while (y > 1000000ull) { y = y / 3 + (y & 1); out[2]++; }
    uint64_t g = gcd((uint64_t)(x < 0 ? -x : x), y * 12);
    out[0] = (uint32_t)x; out[1] = (uint32_t)(x >> 32); out[3] = (uint32_t)(g ^ y) + __builtin_popcountll(y) + (x ? __builtin_clzll((uint64_t)x) : 64);
}
