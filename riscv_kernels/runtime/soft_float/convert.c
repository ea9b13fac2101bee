/* Conversions between float and 32-bit integers. long_float.c has those of 64 bits. */
#include "soft.h"

float __floatsisf(int32_t x);
float __floatunsisf(uint32_t x);
int32_t __fixsfsi(float x);
uint32_t __fixunssfsi(float x);

INLINE float of_size(uint32_t sign, uint32_t size)
{
    const uint32_t places = (uint32_t)__builtin_clz(size | 1);
    return float_of(round_and_pack(sign, 158 - (int32_t)places, shift_right_sticky(size << places, 1)));
}

float __floatunsisf(uint32_t x) { return of_size(0, x); }

float __floatsisf(int32_t x)
{
    const uint32_t negative = 0u - ((uint32_t)x >> 31);
    return of_size(negative & SIGN_BIT, ((uint32_t)x ^ negative) - negative);
}

/* |x| towards zero, for |x| < 2^32. */
INLINE uint32_t whole_of(uint32_t magnitude)
{
    const int32_t places = (int32_t)(magnitude >> 23) - 150;
    const uint32_t significand = (magnitude & (HIDDEN_BIT - 1)) | HIDDEN_BIT;
    const uint32_t right = (significand >> (-places & 31)) & mask_of(places > -24);
    return choose_bits(mask_of(places < 0), right, significand << (places & 31));
}

/* As fcvt: the nearest integer there is, the greatest one for a NaN. */
int32_t __fixsfsi(float x)
{
    const uint32_t bits = bits_of(x), size = magnitude_of(bits);
    const uint32_t negative = (0u - (bits >> 31)) & ~mask_of(size > INFINITY_BITS);
    const uint32_t fits = mask_of(size < 0x4F000000u); /* 2^31 */
    return (int32_t)choose_bits(fits, (whole_of(size) ^ negative) - negative, 0x7FFFFFFFu ^ negative);
}

uint32_t __fixunssfsi(float x)
{
    const uint32_t bits = bits_of(x), size = magnitude_of(bits);
    const uint32_t negative = (0u - (bits >> 31)) & ~mask_of(size > INFINITY_BITS);
    const uint32_t fits = mask_of(size < 0x4F800000u); /* 2^32 */
    return choose_bits(fits, whole_of(size), ~0u) & ~negative;
}
