/* expm1, log1p, asinh, acosh, atanh of OpenCL C. */
#include "log.h"

float __metronome_expm1f(float x);
float __metronome_log1pf(float x);
float __metronome_asinhf(float x);
float __metronome_acoshf(float x);
float __metronome_atanhf(float x);

INLINE float with_sign_of(float y, float x) { return float_of(bits_of(y) | (bits_of(x) & SIGN_BIT)); }

/* Below 0.7 a polynomial; above it the subtraction takes away at most one bit. */
float __metronome_expm1f(float x)
{
    float p = 0x1.731f52p-19f;
    p = fma32(p, x, 0x1.a55064p-16f);
    p = fma32(p, x, 0x1.a01ea8p-13f);
    p = fma32(p, x, 0x1.6c0f74p-10f);
    p = fma32(p, x, 0x1.111108p-7f);
    p = fma32(p, x, 0x1.55555cp-5f);
    p = fma32(p, x, 0x1.555556p-3f);
    p = fma32(p, x, 0.5f);
    const float near = fma32(x * x, p, x);
    const float y = choose(mask_of(magnitude(x) < 0.7f), near, exp_inline(x) - 1.0f);
    return choose(mask_of(x == 0.0f), x, y);
}

/* ln(u + c) = ln u + c / u with u = 1 + x rounded and c the rounding error. */
INLINE float log1p_inline(float x)
{
    const float u = 1.0f + x;
    const float lost = choose(mask_of(magnitude(x) < 1.0f), x - (u - 1.0f), 1.0f - (u - x));
    const uint32_t usual = mask_of(bits_of(u) - 1 < INFINITY_BITS - 1);
    const float y = log_inline(u) + choose(usual, lost / u, 0.0f);
    return choose(mask_of(x == 0.0f), x, y);
}

float __metronome_log1pf(float x) { return log1p_inline(x); }

/* ln(w + 1), or ln(2 a) for an a so large that it is the same. */
INLINE float area(float a, float w)
{
    const uint32_t large = mask_of(a > 0x1p28f);
    return log1p_inline(choose(large, a, w)) + choose(large, 0x1.62e43p-1f, 0.0f);
}

float __metronome_asinhf(float x)
{
    const float a = magnitude(x), square = a * a;
    return with_sign_of(area(a, a + square / (1.0f + __builtin_sqrtf(1.0f + square))), x);
}

float __metronome_acoshf(float x)
{
    const float t = x - 1.0f;
    const float y = area(x, t + __builtin_sqrtf(fma32(t, t, t + t)));
    return choose(mask_of(x < 1.0f), float_of(0x7FC00000u), y);
}

float __metronome_atanhf(float x)
{
    const float a = magnitude(x);
    return with_sign_of(0.5f * log1p_inline(2.0f * a / (1.0f - a)), x);
}
