/* sinf, cosf, tanf (math.h). */
#include "math.h"

#include "trig.h"

/* 2 / pi * 2^(8 k), modulo 2^32. */
static const uint32_t two_over_pi[25] = {
    0x00000000, 0x000000a2, 0x0000a2f9, 0x00a2f983, 0xa2f9836e, 0xf9836e4e, 0x836e4e44, 0x6e4e4415, 0x4e441529,
    0x441529fc, 0x1529fc27, 0x29fc2757, 0xfc2757d1, 0x2757d1f5, 0x57d1f534, 0xd1f534dd, 0xf534ddc0, 0x34ddc0db,
    0xddc0db62, 0xc0db6295, 0xdb629599, 0x6295993c, 0x95993c43, 0x993c4390, 0x3c439041,
};

/* |x| = n pi / 2 + *r + *low with |*r| <= pi / 4; returns n modulo 4. For an infinity or a NaN *r is a NaN.
 *
 * Payne and Hanek: of 2 / pi only the bits matter that neither give multiples of 4 nor are below the result. */
INLINE uint32_t reduce_trig(float x, float *r, float *low)
{
    const float a = magnitude(x);
    const uint32_t near = mask_of(a < 0x1.921fb6p-1f);
    const uint32_t bits = choose_bits(near, 0x3f800000u, bits_of(a));
    /* |x| = (bits & 0xFFFFFF) * 2^(place - 94); the product is wanted in units of 2^-62, of 96 bits of 2 / pi. */
    const uint32_t place = (bits >> 23) - 150 + 94;
    const uint32_t *const words = two_over_pi + (place >> 3);
    const uint32_t significand = ((bits & 0x7FFFFFu) | 0x800000u) << (place & 7);
    const uint64_t product = ((uint64_t)(significand * words[-8]) << 32) + (uint64_t)significand * words[-4] +
                             ((uint64_t)significand * words[0] >> 32);
    const uint32_t n = (uint32_t)((product + (1ull << 61)) >> 62);
    const uint64_t signed_rest = product - ((uint64_t)n << 62);
    const uint32_t sign = (uint32_t)(signed_rest >> 32) & SIGN_BIT;
    const uint32_t negative = mask_of((int32_t)(sign >> 31));
    const uint64_t both = (uint64_t)negative << 32 | negative;
    const uint64_t rest = (signed_rest ^ both) - both;
    const uint32_t upper = (uint32_t)(rest >> 32);
    const float upper_float = (float)upper;
    const float left = (float)(int32_t)(upper - (uint32_t)upper_float);
    const float first = upper_float * 0x1p-30f;
    const float second = fma32(left, 0x1p-30f, (float)(uint32_t)rest * 0x1p-62f);
    const float quarter = first + second;
    const float quarter_low = (first - quarter) + second;
    const float pi_half = 0x1.921fb6p+0f;
    const float angle = quarter * pi_half;
    const float angle_low = fma32(quarter_low, pi_half,
                                  fma32(quarter, -0x1.777a5cp-25f, fma32(quarter, pi_half, -angle)));
    const float nothing = a - a; /* a NaN for an infinity or a NaN */
    *r = choose(near, a, float_of(bits_of(angle) ^ sign)) + nothing;
    *low = choose(near, 0.0f, float_of(bits_of(angle_low) ^ sign));
    return n & ~near;
}

WEAK float sinf(float x)
{
    float r, low;
    const uint32_t n = reduce_trig(x, &r, &low);
    return float_of(bits_of(sin_of_quadrant(n, r, low)) ^ (bits_of(x) & SIGN_BIT));
}

WEAK float cosf(float x)
{
    float r, low;
    const uint32_t n = reduce_trig(x, &r, &low);
    return sin_of_quadrant(n + 1, r, low);
}

WEAK float tanf(float x)
{
    float r, low;
    const uint32_t n = reduce_trig(x, &r, &low);
    return float_of(bits_of(tan_of_quadrant(n, r, low)) ^ (bits_of(x) & SIGN_BIT));
}

RESERVED_NAME(sinf);
RESERVED_NAME(cosf);
RESERVED_NAME(tanf);
