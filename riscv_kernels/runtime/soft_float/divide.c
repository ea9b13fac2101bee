/* Division: the quotient's 24 bits behind the leading one, eight at a time by the integer divider. */
#include "soft.h"

float __divsf3(float x, float y);

/* The next eight bits of *rest / divisor, where *rest < divisor < 2^24. */
INLINE uint32_t next_bits(uint32_t *rest, uint32_t divisor)
{
    const uint32_t bits = (*rest << 8) / divisor;
    *rest = (*rest << 8) - bits * divisor;
    return bits;
}

float __divsf3(float x, float y)
{
    const uint32_t a = magnitude_of(bits_of(x)), b = magnitude_of(bits_of(y));
    const uint32_t sign = (bits_of(x) ^ bits_of(y)) & SIGN_BIT;
    int32_t exponent, other;
    const uint32_t dividend = unpack_normalised(a, &exponent);
    const uint32_t divisor = unpack_normalised(b, &other) | HIDDEN_BIT; /* never zero */
    const uint32_t below = bit_of(dividend < divisor);
    uint32_t rest = (dividend << below) - divisor;
    uint32_t quotient = 1;
    for (int step = 0; step < 3; step++)
        quotient = quotient << 8 | next_bits(&rest, divisor);
    const uint32_t significand = quotient << 6 | bit_of(rest != 0);
    const uint32_t result = round_and_pack(sign, exponent - other + 127 - (int32_t)below, significand);
    const uint32_t endless = mask_of(a == INFINITY_BITS), nothing = mask_of(a == 0);
    const uint32_t by_endless = mask_of(b == INFINITY_BITS), by_nothing = mask_of(b == 0);
    const uint32_t invalid = mask_of(a > INFINITY_BITS) | mask_of(b > INFINITY_BITS) | (endless & by_endless)
                             | (nothing & by_nothing);
    const uint32_t number = choose_bits(endless | by_nothing, sign | INFINITY_BITS,
                                        choose_bits(nothing | by_endless, sign, result));
    return float_of(choose_bits(invalid, QUIET_NAN, number));
}
