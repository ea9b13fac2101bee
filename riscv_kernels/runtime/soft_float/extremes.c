/* The smaller and the greater of two floats, as fmin.s and fmax.s: a NaN loses to a number, -0 is below +0. */
#include "soft.h"

float fminf(float x, float y);
float fmaxf(float x, float y);

INLINE int32_t place_of(uint32_t bits) { return (int32_t)(bits ^ ((0u - (bits >> 31)) & ~SIGN_BIT)); }

/* a if `first` is all ones, else b, unless one of them is a NaN. */
INLINE float number_of(uint32_t first, uint32_t a, uint32_t b)
{
    const uint32_t no_a = mask_of(magnitude_of(a) > INFINITY_BITS), no_b = mask_of(magnitude_of(b) > INFINITY_BITS);
    return float_of(choose_bits(no_a & no_b, QUIET_NAN, choose_bits((first & ~no_a) | no_b, a, b)));
}

float fminf(float x, float y)
{
    const uint32_t a = bits_of(x), b = bits_of(y);
    return number_of(mask_of(place_of(a) < place_of(b)), a, b);
}

float fmaxf(float x, float y)
{
    const uint32_t a = bits_of(x), b = bits_of(y);
    return number_of(mask_of(place_of(a) > place_of(b)), a, b);
}
