/* All support for double and long double: printf's float arguments become double, and printf converts them back. */
#include <stdint.h>

#include "format.h"

double __extendsfdf2(float value);

/* Convert a float argument of printf to double. Without a branch: it is called outside SIMT_ONE_BY_ONE. */
double __extendsfdf2(float value)
{
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    const uint32_t small = magnitude < 0x00800000u;
    /* Zero, subnormal: 2^-126 (1 + m) - 2^-126 would be exact. Here its exponent is found by converting it. */
    const uint32_t converted = __builtin_bit_cast(uint32_t, (float)magnitude);
    uint32_t normal = small ? converted : magnitude;
    const uint32_t bias = small ? 1023 - 127 - 149 : 1023 - 127;
    uint32_t high = (normal >> 3) + (bias << 20);
    high = magnitude >= 0x7F800000u ? (normal >> 3) | 0x7FF00000u : high;
    high = magnitude == 0 ? 0 : high;
    const uint32_t low = magnitude == 0 ? 0 : normal << 29;
    return __builtin_bit_cast(double, (uint64_t)(high | (bits & 0x80000000u)) << 32 | low);
}

/* The nearest float, ties to even, of the double with these bits; in integers, for the machine has no double. */
static uint32_t narrowed(uint64_t bits)
{
    const uint32_t sign = (uint32_t)(bits >> 32) & 0x80000000u;
    const int32_t exponent = (int32_t)(bits >> 52 & 0x7FF) - 1023;
    uint64_t significand = (bits & 0xFFFFFFFFFFFFFull) | 1ull << 52;
    if (exponent == 1024)
        return sign | 0x7F800000u | ((bits & 0xFFFFFFFFFFFFFull) ? 0x400000u : 0);
    if (exponent > 127)
        return sign | 0x7F800000u;
    if (exponent < -150)
        return sign;
    /* Bits to drop: 29, and more for a subnormal result. */
    const uint32_t drop = 29 + (exponent < -126 ? (uint32_t)(-126 - exponent) : 0);
    const uint64_t half = 1ull << (drop - 1);
    significand += half - 1 + (significand >> drop & 1);
    const uint32_t rounded = (uint32_t)(significand >> drop);
    /* The leading one of a normal number adds 1 to the exponent; a carry makes it the next. */
    return sign | (rounded + (exponent < -126 ? 0 : (uint32_t)(exponent + 126) << 23));
}

/* The bits of a double that lies as near, or the same side of a float's halves: long double is an IEEE quad here. */
static uint64_t from_quad(long double value)
{
    uint64_t words[2];
    __builtin_memcpy(words, &value, sizeof words);
    const uint64_t sign = words[1] & 1ull << 63;
    const int32_t exponent = (int32_t)(words[1] >> 48 & 0x7FFF) - 16383;
    const uint64_t significand =
        (words[1] & 0xFFFFFFFFFFFFull) << 4 | words[0] >> 60 | ((words[0] & 0xFFFFFFFFFFFFFFFull) != 0);
    if (exponent < -1022)
        return sign;
    if (exponent > 1023)
        return sign | 0x7FFull << 52 | (exponent == 16384 ? significand : 0);
    return sign | (uint64_t)(exponent + 1023) << 52 | significand;
}

uint32_t __float_of_double(double value) { return narrowed(__builtin_bit_cast(uint64_t, value)); }

uint32_t __float_of_quad(long double value) { return narrowed(from_quad(value)); }
