/* powf (math.h): e^(y ln |x|), the logarithm with about 40 bits. */
#include "math.h"

#include "log.h"

WEAK float powf(float x, float y)
{
    const float a = magnitude(x);
    const float infinity = float_of(INFINITY_BITS);
    const uint32_t zero = mask_of(a == 0.0f);
    const uint32_t huge = mask_of(a == infinity);
    float log, log_low;
    log_extended(x, &log, &log_low);
    log = choose(zero, -infinity, choose(huge, infinity, choose(mask_of(x != x), x, log)));

    float z = y * log;
    float z_low = fma32(y, log_low, fma32(y, log, -z));
    const uint32_t one = mask_of(a == 1.0f) & mask_of(y == y); /* 1 to infinity is 1 */
    z = choose(one, 0.0f, z);
    z_low = choose(one | mask_of(z > 90.0f) | mask_of(z < -105.0f), 0.0f, z_low);
    float r, low;
    const int32_t n = reduce_exp(clamp(z, -105.0f, 90.0f), &r, &low);
    const float sum = r + (low + z_low);
    const float result = exp_reduced(sum, (r - sum) + (low + z_low), n);

    /* The parity of y; from 2^24 on every float is an even number. */
    const float b = magnitude(y);
    const float small = choose(mask_of(b < 0x1p24f), b, 0.0f);
    const int32_t whole = (int32_t)small;
    const uint32_t fraction = mask_of((float)whole != small);
    const uint32_t odd = mask_of(whole & 1) & ~fraction;
    const uint32_t negative = mask_of((int32_t)bits_of(x) < 0);
    const float signed_result = float_of(bits_of(result) | (SIGN_BIT & odd & negative));
    const uint32_t undefined = negative & fraction & ~zero & ~huge;
    const float y_of_x = choose(undefined, float_of(0x7FC00000u), signed_result);
    return choose(mask_of(y == 0.0f) | mask_of(x == 1.0f), 1.0f, y_of_x);
}

RESERVED_NAME(powf);
