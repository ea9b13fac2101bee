/* pown, rootn of OpenCL C: |x| to a power, with the logarithm and the exponent in two parts. */
#include "log.h"

float __metronome_pownf(float x, int y);
float __metronome_rootnf(float x, int y);

/* ln |x| with its infinities. */
INLINE void log_of_size(float x, float *log, float *low)
{
    const float a = magnitude(x), infinity = float_of(INFINITY_BITS);
    log_extended(x, log, low);
    *log = choose(mask_of(a == 0.0f), -infinity, choose(mask_of(a == infinity), infinity, choose(mask_of(x != x), x, *log)));
}

/* y = *high + *low */
INLINE void parts_of(int32_t y, float *high, float *low)
{
    const uint32_t minus = mask_of(y < 0), size = ((uint32_t)y ^ minus) - minus;
    const uint32_t sign = minus & SIGN_BIT;
    const float above = (float)size;
    *high = float_of(bits_of(above) ^ sign);
    *low = float_of(bits_of((float)(int32_t)(size - (uint32_t)above)) ^ sign);
}

/* e^(z + low) */
INLINE float exp_of_sum(float z, float low)
{
    float r, rest;
    const int32_t n = reduce_exp(clamp(z, -105.0f, 90.0f), &r, &rest);
    const uint32_t beyond = mask_of(z > 90.0f) | mask_of(z < -105.0f);
    const float both = rest + choose(beyond, 0.0f, low);
    const float sum = r + both;
    return exp_reduced(sum, (r - sum) + both, n);
}

INLINE float signed_if_odd(float size, float x, int32_t y)
{
    return float_of(bits_of(size) | (bits_of(x) & SIGN_BIT & mask_of(y & 1)));
}

float __metronome_pownf(float x, int y)
{
    float log, log_low, high, low;
    log_of_size(x, &log, &log_low);
    parts_of(y, &high, &low);
    const float z = high * log;
    const float z_low = fma32(high, log, -z) + fma32(high, log_low, low * log);
    return choose(mask_of(y == 0), 1.0f, signed_if_odd(exp_of_sum(z, z_low), x, y));
}

float __metronome_rootnf(float x, int y)
{
    float log, log_low, high, low;
    log_of_size(x, &log, &log_low);
    parts_of(y, &high, &low);
    const float z = log / high;
    const float z_low = (fma32(-z, high, log) + fma32(-z, low, log_low)) / high;
    const uint32_t undefined = mask_of(y == 0) | (mask_of(x < 0.0f) & ~mask_of(y & 1));
    return choose(undefined, float_of(0x7FC00000u), signed_if_odd(exp_of_sum(z, z_low), x, y));
}
