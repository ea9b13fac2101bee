/* floorf, ceilf, truncf, roundf, rintf (math.h): through an integer; from 2^23 on every float is a whole number. */
#include "math.h"

#include "float32.h"

/* `whole` with the sign of x, a zero too; x itself where it has no fraction. */
INLINE float or_itself(float x, float whole)
{
    const float signed_whole = float_of((bits_of(whole) & ~SIGN_BIT) | (bits_of(x) & SIGN_BIT));
    return choose(mask_of(magnitude(x) < 0x1p23f), signed_whole, x + 0.0f);
}

INLINE float towards_zero(float x) { return (float)(int32_t)choose(mask_of(magnitude(x) < 0x1p23f), x, 0.0f); }

WEAK float truncf(float x) { return or_itself(x, towards_zero(x)); }

WEAK float floorf(float x)
{
    const float whole = towards_zero(x);
    return or_itself(x, whole - (float)(x < whole));
}

WEAK float ceilf(float x)
{
    const float whole = towards_zero(x);
    return or_itself(x, whole + (float)(x > whole));
}

WEAK float roundf(float x)
{
    const float a = magnitude(x);
    const float whole = towards_zero(a);
    return or_itself(x, whole + (float)(a - whole >= 0.5f));
}

WEAK float rintf(float x)
{
    const float a = magnitude(x);
    return or_itself(x, (a + 0x1p23f) - 0x1p23f);
}

RESERVED_NAME(truncf);
RESERVED_NAME(floorf);
RESERVED_NAME(ceilf);
RESERVED_NAME(roundf);
RESERVED_NAME(rintf);
