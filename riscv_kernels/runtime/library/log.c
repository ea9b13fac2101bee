/* logf, log2f, log10f (math.h). */
#include "math.h"

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

WEAK float logf(float x) { return log_to_base(x, 1.0f, 0.0f, 0x1.62e4p-1f, 0x1.7f7d1cp-20f); }
WEAK float log2f(float x) { return log_to_base(x, 0x1.715476p+0f, 0x1.4ae0cp-26f, 1.0f, 0.0f); }
WEAK float log10f(float x) { return log_to_base(x, 0x1.bcb7b2p-2f, -0x1.5b235ep-27f, 0x1.344p-2f, 0x1.3509f8p-18f); }

RESERVED_NAME(logf);
RESERVED_NAME(log2f);
RESERVED_NAME(log10f);
