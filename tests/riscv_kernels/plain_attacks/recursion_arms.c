#include "../plain/plain.h"

typedef struct { uint32_t a, b, c, d, e; } big;
static big f(uint32_t n, uint32_t x);
static __attribute__((noinline)) big g(uint32_t n, uint32_t x)
{
    big r = {n, x, 1, 2, 3};
    if (n == 0) return r;
    if (x & 1) r = f(n - 1, x >> 1); else { big t = g(n - 1, x >> 1); r.a += t.a; r.e += t.c; }
    r.b ^= n;
    return r;
}
static __attribute__((noinline)) big f(uint32_t n, uint32_t x)
{
    if (n == 0) return (big){7, 8, 9, x, n};
    big r = (x & 2) ? g(n - 1, x >> 1) : f(n - 1, x * 3);
    if (x % 3 == 0) { big q = g(n / 2, x + 1); r.c += q.b + q.d; }
    r.d += r.a;
    return r;
}
static void plain(uint32_t index, uint32_t *out)
{
    big r = f(index % 7, index * 77);
    out[0] = r.a; out[1] = r.b; out[2] = r.c; out[3] = r.d * 5 + r.e;
}
