/* Comparisons as the compiler calls them: below, at or above zero like x - y. If either is a NaN, the result is one for
 * which the comparison in the name does not hold. */
#include "soft.h"

int32_t __eqsf2(float x, float y);
int32_t __nesf2(float x, float y);
int32_t __ltsf2(float x, float y);
int32_t __lesf2(float x, float y);
int32_t __gtsf2(float x, float y);
int32_t __gesf2(float x, float y);
int32_t __unordsf2(float x, float y);

/* A number in the order of the floats, with both zeros equal. */
INLINE int32_t place_of(uint32_t bits)
{
    const uint32_t negative = 0u - (bits >> 31);
    return (int32_t)((magnitude_of(bits) ^ negative) - negative);
}

INLINE uint32_t unordered(uint32_t a, uint32_t b)
{
    return mask_of(magnitude_of(a) > INFINITY_BITS) | mask_of(magnitude_of(b) > INFINITY_BITS);
}

INLINE int32_t order(float x, float y, int32_t if_unordered)
{
    const uint32_t a = bits_of(x), b = bits_of(y);
    const uint32_t above = bit_of(place_of(a) > place_of(b)), below = bit_of(place_of(a) < place_of(b));
    return (int32_t)choose_bits(unordered(a, b), (uint32_t)if_unordered, above - below);
}

int32_t __eqsf2(float x, float y) { return order(x, y, 1); }
int32_t __nesf2(float x, float y) { return order(x, y, 1); }
int32_t __ltsf2(float x, float y) { return order(x, y, 1); }
int32_t __lesf2(float x, float y) { return order(x, y, 1); }
int32_t __gtsf2(float x, float y) { return order(x, y, -1); }
int32_t __gesf2(float x, float y) { return order(x, y, -1); }
int32_t __unordsf2(float x, float y) { return (int32_t)(unordered(bits_of(x), bits_of(y)) & 1); }
