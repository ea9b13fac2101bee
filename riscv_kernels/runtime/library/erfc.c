/* erfc of OpenCL C. */
#include "float32.h"

float __metronome_erfcf(float x);

/* Below 0.5 it is 1 - erf(x); above it e^-x^2 g(q) / (1 + 2 x) with a polynomial g, q = (x - 3) / (x + 3). */
float __metronome_erfcf(float x)
{
    const float a = magnitude(x);
    const float t = clamp(a, 0.0f, 10.2f); /* from here on the result is 0 */
    const float q = (t - 3.0f) / (t + 3.0f);
    float p = -0x1.1576fp-11f;
    p = fma32(p, q, 0x1.e0ea12p-10f);
    p = fma32(p, q, 0x1.39679ap-9f);
    p = fma32(p, q, -0x1.8554bep-6f);
    p = fma32(p, q, 0x1.17e9a8p-4f);
    p = fma32(p, q, -0x1.e88ba6p-4f);
    p = fma32(p, q, 0x1.09821p-3f);
    p = fma32(p, q, -0x1.85a164p-5f);
    p = fma32(p, q, -0x1.15c07cp-3f);
    p = fma32(p, q, 0x1.40c522p+0f);
    const float square = t * t, square_low = fma32(t, t, -square);
    float r, low;
    const int32_t n = reduce_exp(-square, &r, &low);
    const float sum = r + (low - square_low);
    const float power = exp_reduced(sum, (r - sum) + (low - square_low), n);
    const float far = power * (p / fma32(2.0f, t, 1.0f));
    const uint32_t negative = mask_of(x < 0.0f);
    const float outer = choose(negative, 2.0f - far, far);
    const float inner = 1.0f - choose(negative, -erf_near(a), erf_near(a));
    return choose(mask_of(a < 0.5f), inner, outer);
}
