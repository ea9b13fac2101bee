/* Multiply-add, rounded once. */
#include "soft.h"

float fmaf(float x, float y, float z);

INLINE uint64_t wide(uint32_t mask) { return (uint64_t)mask << 32 | mask; }

INLINE uint64_t choose_wide(uint32_t mask, uint64_t a, uint64_t b) { return b ^ ((a ^ b) & wide(mask)); }

/* x shifted right, and a last bit that says whether a one was lost; more than 63 places are 63. */
INLINE uint64_t shift_wide_sticky(uint64_t x, uint32_t places)
{
    const uint32_t shift = choose_bits(mask_of(places > 63), 63, places), far = mask_of(shift > 31);
    const uint32_t low = (uint32_t)x, high = (uint32_t)(x >> 32), rest = shift & 31;
    /* In one word each, with the upper word moved down first if it goes there. */
    const uint32_t lower = choose_bits(far, high, low), upper = high & ~far, lost = low & far;
    const uint32_t sticky = bit_of(((lower & ((1u << rest) - 1)) | lost) != 0);
    return (uint64_t)(upper >> rest) << 32 | (lower >> rest | upper << 1 << (31 - rest) | sticky);
}

/* x, and how far it was shifted left so that its leading one became bit 62. x is below 2^63, and not 1. */
INLINE uint64_t normalised(uint64_t x, int32_t *places)
{
    const uint32_t empty = mask_of((uint32_t)(x >> 32) == 0);
    const uint64_t moved = choose_wide(empty, x << 31, x);
    const uint32_t top = (uint32_t)(moved >> 32), shift = (uint32_t)__builtin_clz(top | 1) - 1;
    *places = (int32_t)(shift + (empty & 31));
    return (uint64_t)(top << shift | (uint32_t)moved >> 1 >> (31 - shift)) << 32 | (uint32_t)moved << shift;
}

float fmaf(float x, float y, float z)
{
    const uint32_t a = magnitude_of(bits_of(x)), b = magnitude_of(bits_of(y)), c = magnitude_of(bits_of(z));
    const uint32_t sign = (bits_of(x) ^ bits_of(y)) & SIGN_BIT, apart = mask_of(((sign ^ bits_of(z)) & SIGN_BIT) != 0);
    const uint32_t swapped = mask_of(a < b), large = choose_bits(swapped, b, a), small = choose_bits(swapped, a, b);
    const uint32_t nothing = mask_of(small == 0);
    /* As in __mulsf3. Both terms have the exponent of bit 61. */
    int32_t exponent, other, added;
    const uint32_t first = unpack(large, &exponent), second = unpack_normalised(small, &other);
    const uint64_t product = (uint64_t)(first << 7) * (second << 7);
    const uint64_t addend = (uint64_t)unpack(c, &added) << 38;
    /* A product of zero is the smaller term, whatever its exponent. */
    exponent = (int32_t)choose_bits(nothing, 0, (uint32_t)(exponent + other - 126));
    const int32_t distance = exponent - added;
    const uint32_t less = mask_of(distance < 0);
    const uint64_t term = shift_wide_sticky(product, (uint32_t)-distance & less);
    const uint64_t further = shift_wide_sticky(addend, (uint32_t)distance & ~less);
    const uint64_t total = term + (further ^ wide(apart)) - wide(apart);
    const uint32_t negative = 0u - (uint32_t)(total >> 63);
    const uint64_t size = (total ^ wide(negative)) - wide(negative);
    int32_t places;
    const uint64_t moved = normalised(size, &places);
    const uint32_t significand = (uint32_t)(moved >> 32) | bit_of((uint32_t)moved != 0);
    const int32_t greater = (int32_t)choose_bits(less, (uint32_t)added, (uint32_t)exponent);
    /* A difference of zero is positive. */
    const uint32_t result_sign = (sign ^ (negative & SIGN_BIT)) & ~(apart & mask_of(significand == 0));
    const uint32_t result = round_and_pack(result_sign, greater + 1 - places, significand);
    const uint32_t infinite = mask_of(large == INFINITY_BITS), infinite_addend = mask_of(c == INFINITY_BITS);
    const uint32_t invalid = mask_of(large > INFINITY_BITS) | mask_of(c > INFINITY_BITS) | (infinite & nothing)
                             | (infinite & infinite_addend & apart);
    const uint32_t number = choose_bits(infinite, sign | INFINITY_BITS, choose_bits(infinite_addend, bits_of(z), result));
    return float_of(choose_bits(invalid, QUIET_NAN, number));
}
