/* expf, exp2f, tanhf, erff (math.h). */
#include "math.h"

#include "float32.h"

WEAK float expf(float x) { return exp_inline(x); }

WEAK float exp2f(float x)
{
    const float magic = 0x1.8p23f;
    const float limited = clamp(x, -151.0f, 129.0f);
    const float shifted = limited + magic;
    const float fraction = limited - (shifted - magic);
    const float r = fraction * LN2_HIGH;
    const float low = fma32(fraction, LN2_LOW, fma32(fraction, LN2_HIGH, -r));
    return exp_reduced(r, low, (int32_t)(bits_of(shifted) - bits_of(magic)));
}

/* Below 0.625 an odd polynomial; above it 1 - 2 / (e^2x + 1). */
WEAK float tanhf(float x)
{
    const float a = magnitude(x);
    const float s = a * a;
    float p = 0x1.1a2818p-9f;
    p = fma32(p, s, -0x1.0c5edp-7f);
    p = fma32(p, s, 0x1.63a55p-6f);
    p = fma32(p, s, -0x1.b9f188p-5f);
    p = fma32(p, s, 0x1.11107ap-3f);
    p = fma32(p, s, -0x1.555554p-2f);
    const float near = fma32(p * s, a, a);
    const float far = 1.0f - 2.0f / (exp_inline(a + a) + 1.0f);
    const float y = choose(mask_of(a < 0.625f), near, far);
    return float_of(bits_of(y) | (bits_of(x) & SIGN_BIT));
}

/* Below 0.9 an odd polynomial; above it 1 - e^-q(x). */
WEAK float erff(float x)
{
    const float a = magnitude(x);
    const float near = erf_near(a);
    const float t = choose(mask_of(a > 4.0f), 4.0f, a); /* erf(4) is 1 but for 2^-26 */
    float q = 0x1.5d594p-16f;
    q = fma32(q, t, -0x1.c44a7ap-12f);
    q = fma32(q, t, 0x1.105edap-8f);
    q = fma32(q, t, -0x1.9aeap-6f);
    q = fma32(q, t, 0x1.bb44d6p-4f);
    q = fma32(q, t, 0x1.444d26p-1f);
    q = fma32(q, t, 0x1.212626p+0f);
    q = fma32(q, t, -0x1.62d8ap-13f);
    const float far = 1.0f - exp_inline(-q);
    const float y = choose(mask_of(a < 0.9f), near, far);
    return float_of(bits_of(y) | (bits_of(x) & SIGN_BIT));
}

RESERVED_NAME(expf);
RESERVED_NAME(exp2f);
RESERVED_NAME(tanhf);
RESERVED_NAME(erff);
