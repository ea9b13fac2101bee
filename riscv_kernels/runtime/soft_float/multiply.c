/* Multiplication. */
#include "soft.h"

float __mulsf3(float x, float y);

float __mulsf3(float x, float y)
{
    const uint32_t a = magnitude_of(bits_of(x)), b = magnitude_of(bits_of(y));
    const uint32_t sign = (bits_of(x) ^ bits_of(y)) & SIGN_BIT;
    const uint32_t swapped = mask_of(a < b), large = choose_bits(swapped, b, a), small = choose_bits(swapped, a, b);
    /* If both are subnormal, the product rounds to zero: only one needs its leading one in place. */
    int32_t exponent, other;
    const uint32_t first = unpack(large, &exponent), second = unpack_normalised(small, &other);
    const uint64_t product = (uint64_t)(first << 8) * (second << 7);
    const uint32_t top = (uint32_t)(product >> 32) | bit_of((uint32_t)product != 0);
    const uint32_t low = bit_of(top < 1u << 30);
    const uint32_t result = round_and_pack(sign, exponent + other - 126 - (int32_t)low, top << low);
    const uint32_t infinite = mask_of(large == INFINITY_BITS);
    const uint32_t invalid = mask_of(large > INFINITY_BITS) | (infinite & mask_of(small == 0));
    return float_of(choose_bits(invalid, QUIET_NAN, choose_bits(infinite, sign | INFINITY_BITS, result)));
}
