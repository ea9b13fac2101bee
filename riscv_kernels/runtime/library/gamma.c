/* tgamma, lgamma_r of OpenCL C. */
#include "log.h"
#include "trig_pi.h"

float __metronome_tgammaf(float x);
float __metronome_lgammaf_r(float x, int *sign);

#define NOT_A_NUMBER float_of(0x7FC00000u)

/* The whole number below x, for |x| < 2^31. */
INLINE int32_t floor_of(float x)
{
    const int32_t whole = (int32_t)x;
    return whole - (x < (float)whole);
}

/* The gamma function of t between 1 and 2. */
INLINE float gamma_near(float t)
{
    const float u = t - 1.5f;
    float p = -0x1.7aba34p-7f;
    p = fma32(p, u, 0x1.0b523cp-6f);
    p = fma32(p, u, -0x1.02f0f2p-6f);
    p = fma32(p, u, 0x1.8fc482p-6f);
    p = fma32(p, u, -0x1.394b1cp-5f);
    p = fma32(p, u, 0x1.e1b468p-5f);
    p = fma32(p, u, -0x1.3d73ep-4f);
    p = fma32(p, u, 0x1.2835ep-3f);
    p = fma32(p, u, -0x1.b77b8p-4f);
    p = fma32(p, u, 0x1.a8c4ecp-2f);
    p = fma32(p, u, 0x1.08ea8cp-5f);
    return fma32(p, u, 0x1.c5bf8ap-1f);
}

/* From a number between 1 and 2 in steps of 1: the product of the numbers on the way, or its reciprocal. All lanes take
 * the same number of steps. */
float __metronome_tgammaf(float x)
{
    const float limited = clamp(x, -43.5f, 36.0f);
    const int32_t n = floor_of(choose(mask_of(x == x), limited, 1.0f));
    const uint32_t down = mask_of(n <= 0);
    const float g = gamma_near(limited - (float)n + 1.0f);
    /* No product is beyond the exponents. */
    const uint32_t scaled = mask_of((uint32_t)(n + 20) > 40);
    float product = choose(scaled, 0x1p-60f, 1.0f), rest = 0.0f;
    const int32_t last = (int32_t)choose_bits(down, (uint32_t)-n, (uint32_t)(n - 1));
    for (int32_t step = 0; step < 45; step++) {
        const float number = limited + choose(down, (float)step, (float)-step);
        const float factor = choose(mask_of(step <= last) & (down | mask_of(step > 0)), number, 1.0f);
        const float next = product * factor;
        rest = fma32(rest, factor, fma32(product, factor, -next));
        product = next;
    }
    const float up = fma32(g, product, g * rest);
    const float quotient = g / product;
    const float y = choose(down, quotient + (fma32(-quotient, product, g) - quotient * rest) / product, up);
    const float scale = choose(scaled, choose(down, 0x1p-60f, 0x1p60f), 1.0f);
    const uint32_t pole = mask_of(x < 0.0f) & mask_of((float)n == limited);
    const uint32_t beyond = mask_of(x < -43.5f);
    const uint32_t odd_sign = (uint32_t)floor_of(choose(mask_of(magnitude(x) < 0x1p24f), x, 0.0f)) << 31;
    const uint32_t undefined = (pole & ~beyond) | mask_of(x <= -0x1p23f) |
                               (beyond & mask_of((float)(int32_t)choose(mask_of(x > -0x1p24f), x, 0.0f) == x));
    const float result = choose(beyond, float_of(odd_sign), y * scale);
    const float defined = choose(mask_of(magnitude(quotient) == float_of(INFINITY_BITS)) & down & ~beyond, quotient, result);
    const float at_0 = float_of(INFINITY_BITS | (bits_of(x) & SIGN_BIT));
    return choose(undefined, NOT_A_NUMBER, choose(mask_of(x == 0.0f), at_0, defined));
}

/* ln gamma(1 + t) / t for t between -0.25 and 0.5 */
INLINE float log_gamma_at_1(float t)
{
    float p = -0x1.93d5cep-6f;
    p = fma32(p, t, 0x1.17469ep-4f);
    p = fma32(p, t, -0x1.85d7d8p-4f);
    p = fma32(p, t, 0x1.a8a55p-4f);
    p = fma32(p, t, -0x1.c95f76p-4f);
    p = fma32(p, t, 0x1.009a84p-3f);
    p = fma32(p, t, -0x1.26eeb6p-3f);
    p = fma32(p, t, 0x1.5b4364p-3f);
    p = fma32(p, t, -0x1.a8ba66p-3f);
    p = fma32(p, t, 0x1.15132p-2f);
    p = fma32(p, t, -0x1.9a4d54p-2f);
    p = fma32(p, t, 0x1.a51a66p-1f);
    return fma32(p, t, -0x1.2788dp-1f);
}

/* ln gamma(2 + t) / t for t between -0.5 and 1 */
INLINE float log_gamma_at_2(float t)
{
    float p = 0x1.1fbdf8p-17f;
    p = fma32(p, t, -0x1.60208ap-15f);
    p = fma32(p, t, 0x1.c032b4p-14f);
    p = fma32(p, t, -0x1.de9a4p-13f);
    p = fma32(p, t, 0x1.0a97d4p-11f);
    p = fma32(p, t, -0x1.38466ep-10f);
    p = fma32(p, t, 0x1.7adep-9f);
    p = fma32(p, t, -0x1.e407f4p-8f);
    p = fma32(p, t, 0x1.51323p-6f);
    p = fma32(p, t, -0x1.13ep-4f);
    p = fma32(p, t, 0x1.4a34ccp-2f);
    return fma32(p, t, 0x1.b0ee6p-2f);
}

/* ln gamma(a) for a >= 0. From 8 on it is Stirling's series, below it steps of 1 lead to a number between 0.75 and 3. */
INLINE float log_gamma(float a)
{
    const uint32_t small = mask_of(a < 0.75f), large = mask_of(a >= 8.0f);
    float number = choose(large, 2.0f, a), product = 1.0f;
    for (int32_t step = 0; step < 5; step++) {
        const uint32_t more = mask_of(number >= 3.0f);
        number = choose(more, number - 1.0f, number);
        product *= choose(more, number, 1.0f);
    }
    const uint32_t first = (small & mask_of(a < 0.5f)) | (~small & mask_of(number < 1.5f));
    const float at_1 = choose(small, a, number - 1.0f), at_2 = choose(small, a - 1.0f, number - 2.0f);
    const float near = choose(first, at_1 * log_gamma_at_1(at_1), at_2 * log_gamma_at_2(at_2));
    const float log = log_inline(choose(small | large, a, product));
    const float inverse = 1.0f / a, square = inverse * inverse;
    const float series = inverse * fma32(square, fma32(square, 0x1.a01a02p-11f, -0x1.6c16c2p-9f), 0x1.555556p-4f);
    const float stirling = fma32(a - 0.5f, log - 1.0f, 0x1.acfe3ap-2f + series);
    const float y = near + choose(small, -log, log);
    const float infinity = float_of(INFINITY_BITS);
    return choose(mask_of(a == infinity), infinity, choose(large, stirling, y));
}

float __metronome_lgammaf_r(float x, int *sign)
{
    const float a = magnitude(x), right = log_gamma(a);
    /* gamma(x) gamma(-x) = -pi / (x sin(pi x)) */
    const float sine = magnitude(sin_pi(x));
    const float left = log_inline(0x1.921fb6p+1f / (a * sine)) - right;
    const uint32_t reflected = mask_of(x < -0x1p-20f) & mask_of(a < 0x1p23f);
    const uint32_t whole = mask_of(x < -0x1p-20f) & (mask_of(a >= 0x1p23f) | mask_of(sine == 0.0f));
    const int32_t below = floor_of(choose(mask_of(a < 0x1p23f), x, 0.0f));
    const uint32_t minus = (mask_of(below & 1) & mask_of(x < 0.0f)) | (mask_of(x == 0.0f) & mask_of((int32_t)(bits_of(x) >> 31)));
    *sign = (int)choose_bits(minus, ~0u, 1);
    return choose(whole, float_of(INFINITY_BITS), choose(reflected, left, right));
}
