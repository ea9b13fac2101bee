/* Shared parts of the functions of math.h. They have no branch: lanes of a warp that would take different ones must not
 * disagree. A choice is an AND with a mask, since a float ternary becomes a branch.
 *
 * Only + - * / and fmaf, each rounded once, so that every machine with IEEE 754 gives the same bits: the tests run the
 * same sources on the host, over all floats. A value "hi, lo" is the unevaluated sum hi + lo, |lo| <= ulp(hi) / 2.
 * The polynomials are minimax fits; their coefficients were rounded to float one by one, the others fitted again.
 */
#ifndef METRONOME_FLOAT32_H
#define METRONOME_FLOAT32_H

#include <stdint.h>

#include "names.h"

#pragma STDC FP_CONTRACT OFF

#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
INLINE float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }
INLINE float fma32(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

/* All ones if `condition` (0 or 1), else 0. The compiler cannot see through it and make a branch of it. */
INLINE uint32_t mask_of(int condition)
{
    uint32_t mask = 0u - (uint32_t)condition;
    __asm__("" : "+r"(mask));
    return mask;
}

INLINE uint32_t choose_bits(uint32_t mask, uint32_t a, uint32_t b) { return b ^ ((a ^ b) & mask); }
INLINE float choose(uint32_t mask, float a, float b) { return float_of(choose_bits(mask, bits_of(a), bits_of(b))); }

#define SIGN_BIT 0x80000000u
#define INFINITY_BITS 0x7F800000u

INLINE float magnitude(float x) { return float_of(bits_of(x) & ~SIGN_BIT); }

/* ln 2 = LN2_HIGH + LN2_LOW; LN2_HIGH has 21 bits, so that products with numbers of 3 bits are exact. */
#define LN2_HIGH 0x1.62e43p-1f
#define LN2_LOW -0x1.05c61p-29f

/* x - n ln 2 = *r + *low with n = x / ln 2 rounded, for |x| < 2^14. Returns n. */
INLINE int32_t reduce_exp(float x, float *r, float *low)
{
    const float magic = 0x1.8p23f;
    const float shifted = fma32(x, 0x1.715476p+0f, magic);
    const float n = shifted - magic;
    const float high = fma32(n, -LN2_HIGH, x);
    *r = fma32(n, -LN2_LOW, high);
    *low = fma32(n, -LN2_LOW, high - *r);
    return (int32_t)(bits_of(shifted) - bits_of(magic));
}

/* exp(r + low) * 2^n for |r| <= ln(2) / 2, |low| <= ulp(r), -152 <= n <= 130. Any n if r is a NaN. */
INLINE float exp_reduced(float r, float low, int32_t n)
{
    float p = 0x1.9df7f2p-13f;
    p = fma32(p, r, 0x1.6d4cdap-10f);
    p = fma32(p, r, 0x1.11131p-7f);
    p = fma32(p, r, 0x1.5554e8p-5f);
    p = fma32(p, r, 0x1.555554p-3f);
    p = fma32(p, r, 0.5f);
    const float high = 1.0f + r;
    const float y = high + (fma32(r * r, p, (1.0f - high) + r) + low);
    /* In two steps: 2^n may be beyond the exponents, and the last product rounds a subnormal result. */
    const uint32_t half = (uint32_t)(n >> 1);
    return y * float_of((half + 127) << 23) * float_of(((uint32_t)n - half + 127) << 23);
}

/* x between low and high; a NaN stays one. */
INLINE float clamp(float x, float low, float high)
{
    return choose(mask_of(x > high), high, choose(mask_of(x < low), low, x));
}

/* e^x */
INLINE float exp_inline(float x)
{
    float r, low;
    const int32_t n = reduce_exp(clamp(x, -105.0f, 90.0f), &r, &low);
    return exp_reduced(r, low, n);
}

/* |x| = m * 2^e with m between 2/3 and 4/3; returns m - 1. For |x| = 0, infinity or NaN the result means nothing. */
INLINE float split_log(float x, float *e)
{
    const float positive = magnitude(x);
    const uint32_t tiny = mask_of(positive < 0x1p-126f);
    const uint32_t bits = bits_of(choose(tiny, positive * 0x1p23f, positive));
    const uint32_t two_thirds = 0x3f2aaaabu;
    const int32_t exponent = (int32_t)(bits - two_thirds) >> 23;
    *e = (float)(exponent - (int32_t)(tiny & 23));
    return float_of(bits - ((uint32_t)exponent << 23)) - 1.0f;
}

/* erf(a) for 0 <= a < 0.9 */
INLINE float erf_near(float a)
{
    const float s = a * a;
    float p = 0x1.4d372ap-14f;
    p = fma32(p, s, -0x1.a586c2p-11f);
    p = fma32(p, s, 0x1.543f5cp-8f);
    p = fma32(p, s, -0x1.b80064p-6f);
    p = fma32(p, s, 0x1.ce2d6p-4f);
    p = fma32(p, s, -0x1.812740p-2f);
    p = fma32(p, s, 0x1.06eba8p-3f);
    return fma32(p, a, a);
}

#endif
