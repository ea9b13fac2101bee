/* Addition and subtraction. */
#include "soft.h"

float __addsf3(float x, float y);
float __subsf3(float x, float y);

INLINE float sum(uint32_t a, uint32_t b)
{
    /* The operand of the greater magnitude first: its sign is the result's. */
    const uint32_t swapped = mask_of(magnitude_of(a) < magnitude_of(b));
    const uint32_t large = choose_bits(swapped, b, a), small = choose_bits(swapped, a, b);
    const uint32_t apart = mask_of(((a ^ b) & SIGN_BIT) != 0);
    int32_t exponent, other;
    /* Six bits more for what alignment shifts out; the sum is below 2^31. */
    const uint32_t first = unpack(large, &exponent) << 6, second = unpack(small, &other) << 6;
    const uint32_t distance = (uint32_t)(exponent - other), far = mask_of(distance > 31);
    const uint32_t aligned = shift_right_sticky(second, choose_bits(far, 31, distance) & 31);
    const uint32_t total = first + (aligned ^ apart) - apart;
    const uint32_t places = (uint32_t)__builtin_clz(total | 1) - 1;
    /* A difference of zero is positive. */
    const uint32_t sign = large & SIGN_BIT & ~(apart & mask_of(total == 0));
    const uint32_t result = round_and_pack(sign, exponent + 1 - (int32_t)places, total << places);
    const uint32_t infinite = mask_of(magnitude_of(large) == INFINITY_BITS);
    const uint32_t invalid = mask_of(magnitude_of(large) > INFINITY_BITS)
                             | (infinite & apart & mask_of(magnitude_of(small) == INFINITY_BITS));
    return float_of(choose_bits(invalid, QUIET_NAN, choose_bits(infinite, large, result)));
}

float __addsf3(float x, float y) { return sum(bits_of(x), bits_of(y)); }

float __subsf3(float x, float y) { return sum(bits_of(x), bits_of(y) ^ SIGN_BIT); }
