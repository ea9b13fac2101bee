#include "../plain/plain.h"

static __attribute__((noinline)) uint32_t f(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e, uint32_t g, uint32_t h, uint32_t i, uint32_t j, uint32_t k, float l, float m, float n, float o, float p, float q, float r, float s, float t, float u)
{
    if (a == 0) return j + k;
    uint32_t x = a + b * 2 + c * 3 + d * 5 + e * 7 + g * 11 + h * 13 + i * 17 + j * 19 + k * 23;
    float y = l + m * 2 + n * 3 + o * 4 + p * 5 + q * 6 + r * 7 + s * 8 + t * 9 + u * 10;
    if (x & 1) x += f(a - 1, c, b, e, d, h, g, j, i, k + x, m, l, n, o, p, q, r, t, u, s);
    if (x % 3 == 1 && y > 20.0f) x ^= f(a / 2, k, j, i, h, g, e, d, c, b, u, t, s, r, q, p, o, n, m, l);
    return x + (uint32_t)y;
}
static void plain(uint32_t index, uint32_t *out)
{
    float z = (float)(index % 5);
    out[0] = f(index % 6, index, 2, 3, index * 3, 5, 6, 7, index & 3, 9, z, 1, 2, 3, z, 5, 6, 7, z, 9);
    if (index % 3)
        out[1] = f(3, 1, 2, 3, 4, 5, 6, 7, 8, index, 0, 1, 2, 3, z, 5, 6, 7, 8, z);
}
