/* Logarithms, for those functions that need one on their way (float32.h). */
#ifndef METRONOME_LOG_H
#define METRONOME_LOG_H

#include "float32.h"

/* The logarithm to a base b, of which are given: 1 / ln b = scale + scale_low, log_b 2 = step + step_low, where products
 * of step with an exponent are exact. */
INLINE float log_to_base(float x, float scale, float scale_low, float step, float step_low)
{
    float e;
    const float f = split_log(x, &e);
    float q = 0x1.e9d188p-4f;
    q = fma32(q, f, -0x1.06c2bap-3f);
    q = fma32(q, f, 0x1.b91efap-4f);
    q = fma32(q, f, -0x1.f3b02cp-4f);
    q = fma32(q, f, 0x1.24eb6ep-3f);
    q = fma32(q, f, -0x1.55978cp-3f);
    q = fma32(q, f, 0x1.9997eep-3f);
    q = fma32(q, f, -0x1.ffff18p-3f);
    q = fma32(q, f, 0x1.555556p-2f);
    /* ln(1 + f) = f + rest */
    const float square = f * f;
    const float rest = fma32(q * f, square, -0.5f * square);
    const float high = f * scale;
    const float low = fma32(f, scale_low, fma32(f, scale, -high));
    const float whole = e * step;
    const float sum = whole + high;
    const float y = sum + (((whole - sum) + high) + (fma32(e, step_low, low) + rest * scale));
    /* log 0 = -infinity; of a negative number a NaN; of infinity and NaN themselves. */
    const float special = choose(mask_of(x == 0.0f), float_of(SIGN_BIT | INFINITY_BITS),
                                 choose(mask_of(x < 0.0f), float_of(0x7FC00000u), x + x));
    const uint32_t usual = mask_of(bits_of(x) - 1 < INFINITY_BITS - 1);
    return choose(usual, y, special);
}

INLINE float log_inline(float x) { return log_to_base(x, 1.0f, 0.0f, 0x1.62e4p-1f, 0x1.7f7d1cp-20f); }

/* ln |x| = *high + *low, for |x| neither 0 nor infinity nor NaN. */
INLINE void log_extended(float x, float *high, float *low)
{
    float e;
    const float f = split_log(x, &e);
    /* ln(1 + f) = 2 atanh(q) = 2 q + q^3 (2/3 + p(q^2)), q = f / (2 + f) */
    const float divisor = 2.0f + f;
    const float divisor_low = f - (divisor - 2.0f);
    const float q = f / divisor;
    const float q_low = fma32(-q, divisor_low, fma32(-q, divisor, f)) / divisor;
    const float s = q * q;
    const float s_low = fma32(2.0f * q, q_low, fma32(q, q, -s));
    float p = 0x1.e912bp-3f;
    p = fma32(p, s, 0x1.24190ep-2f);
    p = fma32(p, s, 0x1.999aa4p-2f);
    p *= s;
    const float third = 0x1.555556p-1f;
    const float u = third + p;
    const float u_low = ((third - u) + p) - 0x1.555556p-26f;
    const float cube = q * s;
    const float cube_low = fma32(q, s_low, fma32(q_low, s, fma32(q, s, -cube)));
    const float v = cube * u;
    const float v_low = fma32(cube, u_low, fma32(cube_low, u, fma32(cube, u, -v)));
    const float sum = 2.0f * q + v;
    const float sum_low = ((2.0f * q - sum) + v) + fma32(2.0f, q_low, v_low);
    const float whole = e * 0x1.62e4p-1f;
    const float total = whole + sum;
    const float total_low = ((whole - total) + sum) + fma32(e, 0x1.7f7d1cp-20f, sum_low);
    *high = total + total_low;
    *low = (total - *high) + total_low;
}

#endif
