/* Angles in multiples of pi. */
#ifndef METRONOME_TRIG_PI_H
#define METRONOME_TRIG_PI_H

#include "trig.h"

/* |x| pi = n pi / 2 + *r + *low but for whole turns, with |*r| <= pi / 4. For an infinity or a NaN *r is a NaN. */
INLINE uint32_t reduce_pi(float x, float *r, float *low)
{
    const float a = magnitude(x);
    const uint32_t even = mask_of(a >= 0x1p24f); /* every float from here on */
    const float half = choose(even, 0.0f, 0.5f * a);
    const float turn = choose(even, 0.0f, a - 2.0f * (float)(int32_t)half);
    const uint32_t n = (uint32_t)(int32_t)(2.0f * turn + 0.5f);
    const float rest = turn - 0.5f * (float)n + (a - a);
    const float pi = 0x1.921fb6p+1f;
    *r = rest * pi;
    *low = fma32(rest, -0x1.777a5cp-24f, fma32(rest, pi, -*r));
    return n & 3;
}

INLINE float sin_pi(float x)
{
    float r, low;
    const uint32_t n = reduce_pi(x, &r, &low);
    const float y = sin_of_quadrant(n, r, low);
    return float_of(bits_of(choose(mask_of(y == 0.0f), 0.0f, y)) ^ (bits_of(x) & SIGN_BIT));
}

#endif
