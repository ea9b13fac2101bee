/* Shared parts of float arithmetic in integers, for programs without instructions of F (--soft-float).
 *
 * Each routine gives the bits that the machine's FPU gives in the usual rounding mode: rounded once to nearest, ties to
 * even, with subnormal numbers, and 0x7FC00000 as the only NaN. There are no flags. No routine has a branch that depends
 * on its operands, so lanes may call it with different ones, and its time is the same for all.
 *
 * Only integers here: an operation on a float would be a call of one of these routines.
 */
#ifndef METRONOME_SOFT_H
#define METRONOME_SOFT_H

#include "../library/float32.h"

#define QUIET_NAN 0x7FC00000u
#define HIDDEN_BIT 0x00800000u

INLINE uint32_t magnitude_of(uint32_t bits) { return bits & ~SIGN_BIT; }

/* 1 if `condition` holds, else 0, where the compiler would otherwise see a reason for a branch. */
INLINE uint32_t bit_of(int condition) { return mask_of(condition) & 1; }

/* x shifted right, and a last bit that says whether a one was lost; 0 <= places <= 31. */
INLINE uint32_t shift_right_sticky(uint32_t x, uint32_t places)
{
    return x >> places | bit_of((x & ((1u << places) - 1)) != 0);
}

/* The number's significand with its hidden bit, and its exponent: 1 for a subnormal number, as if it had one. */
INLINE uint32_t unpack(uint32_t bits, int32_t *exponent)
{
    const uint32_t field = bits >> 23 & 0xFF, normal = bit_of(field != 0);
    *exponent = (int32_t)(field + (normal ^ 1));
    return (bits & (HIDDEN_BIT - 1)) | normal << 23;
}

/* As unpack(), but the hidden bit of a subnormal number is its leading one. Zero stays zero. */
INLINE uint32_t unpack_normalised(uint32_t bits, int32_t *exponent)
{
    const uint32_t significand = unpack(bits, exponent);
    const uint32_t places = (uint32_t)__builtin_clz(significand | 1) - 8;
    *exponent -= (int32_t)places;
    return significand << places;
}

/* The float of significand * 2^(exponent - 127 - 30), rounded. The significand is 0, or its leading one is bit 30, unless
 * the exponent is so low that the result rounds to zero anyway; its last bit may be a sticky one. `sign` is 0 or SIGN_BIT. */
INLINE uint32_t round_and_pack(uint32_t sign, int32_t exponent, uint32_t significand)
{
    const uint32_t tiny = mask_of((exponent < 1) | (significand == 0));
    const uint32_t deep = (uint32_t)(1 - exponent), most = mask_of(deep > 31 && exponent < 1);
    const uint32_t kept = shift_right_sticky(significand, choose_bits(most, 31, deep & tiny) & 31);
    const uint32_t rounded = (kept + 0x3F + (kept >> 7 & 1)) >> 7;
    /* The hidden bit adds 1 to the exponent; a carry makes it the next one, up to infinity. */
    const uint32_t finite = rounded + ((uint32_t)(exponent - 1) << 23 & ~tiny);
    return sign | choose_bits(mask_of(exponent > 254) & ~tiny, INFINITY_BITS, finite);
}

#endif
