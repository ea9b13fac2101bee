/* sinpi, cospi, tanpi of OpenCL C. */
#include "trig_pi.h"

float __metronome_sinpif(float x);
float __metronome_cospif(float x);
float __metronome_tanpif(float x);

float __metronome_sinpif(float x) { return sin_pi(x); }

float __metronome_cospif(float x)
{
    float r, low;
    const uint32_t n = reduce_pi(x, &r, &low);
    const float y = sin_of_quadrant(n + 1, r, low);
    return choose(mask_of(y == 0.0f), 0.0f, y);
}

/* At n + 1/2 an infinity, at n a zero, of either the positive one if n is even. */
float __metronome_tanpif(float x)
{
    float r, low;
    const uint32_t n = reduce_pi(x, &r, &low);
    const uint32_t sign = n << 30 & SIGN_BIT;
    const uint32_t exact = choose_bits(mask_of((int32_t)(n & 1)), INFINITY_BITS, 0) | sign;
    const uint32_t y = choose_bits(mask_of(r == 0.0f), exact, bits_of(tan_of_quadrant(n, r, low)));
    return float_of(y ^ (bits_of(x) & SIGN_BIT));
}
