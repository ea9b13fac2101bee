/* Sine, cosine and tangent of an angle that has been reduced (float32.h). */
#ifndef METRONOME_TRIG_H
#define METRONOME_TRIG_H

#include "float32.h"

/* The sine of r + low, less r. */
INLINE float sin_rest(float r, float low)
{
    const float s = r * r;
    float p = 0x1.7c31f4p-19f;
    p = fma32(p, s, -0x1.a0595cp-13f);
    p = fma32(p, s, 0x1.111174p-7f);
    p = fma32(p, s, -0x1.555556p-3f);
    return fma32(r * s, p, low);
}

/* The cosine of r + low is the sum of *high and the returned value. */
INLINE float cos_rest(float r, float low, float *high)
{
    const float s = r * r;
    const float s_low = fma32(2.0f * r, low, fma32(r, r, -s));
    float p = 0x1.99e904p-16f;
    p = fma32(p, s, -0x1.6c0c2ap-10f);
    p = fma32(p, s, 0x1.55554ap-5f);
    const float half = 0.5f * s;
    *high = 1.0f - half;
    return ((1.0f - *high) - half) + fma32(s * s, p, -0.5f * s_low);
}

/* The sine of n pi / 2 + r + low. */
INLINE float sin_of_quadrant(uint32_t n, float r, float low)
{
    float high;
    const float cosine_rest = cos_rest(r, low, &high);
    const uint32_t turned = mask_of((int32_t)(n & 1));
    const float y = choose(turned, high, r) + choose(turned, cosine_rest, sin_rest(r, low));
    return float_of(bits_of(y) ^ (n << 30 & SIGN_BIT));
}

/* The tangent of the same angle. */
INLINE float tan_of_quadrant(uint32_t n, float r, float low)
{
    const uint32_t turned = mask_of((int32_t)(n & 1));
    float high;
    const float sine_rest = sin_rest(r, low), cosine_rest = cos_rest(r, low, &high);
    const float sine = r + sine_rest, cosine = high + cosine_rest;
    const float sine_low = (r - sine) + sine_rest, cosine_low = (high - cosine) + cosine_rest;
    const float over = choose(turned, -cosine, sine), over_low = choose(turned, -cosine_low, sine_low);
    const float under = choose(turned, sine, cosine), under_low = choose(turned, sine_low, cosine_low);
    const float quotient = over / under;
    return quotient + (fma32(-quotient, under, over) + fma32(-quotient, under_low, over_low)) / under;
}

#endif
