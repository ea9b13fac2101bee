/* Conversions between float and 64-bit integers: those that the compiler calls for a cast, and those with a rounding mode. */
#include "float32.h"

float __floatdisf(int64_t x);
float __floatundisf(uint64_t x);
int64_t __fixsfdi(float x);
uint64_t __fixunssfdi(float x);

#ifdef METRONOME_SOFT_FLOAT
/* The size of a number, so down is towards zero. */
#define ROUNDED(mode)                                                          \
    INLINE float from_word_##mode(uint32_t x) { return rounded_word(x, ROUND_##mode); }
enum { ROUND_rne, ROUND_rtz, ROUND_rdn = ROUND_rtz, ROUND_rup };

INLINE float rounded_word(uint32_t x, int mode)
{
    const uint32_t places = (uint32_t)__builtin_clz(x | 1), top = x << places, rest = top & 0xFF, odd = top >> 8 & 1;
    const uint32_t up = mode == ROUND_rne ? mask_of(rest + odd > 0x80) : mode == ROUND_rup ? mask_of(rest != 0) : 0;
    /* The leading one adds 1 to the exponent, and so does a carry. */
    return float_of(((157 - places) << 23 & mask_of(x != 0)) + (top >> 8) + (up & 1));
}
#else
/* The mode is part of the instruction. */
#define ROUNDED(mode)                                                          \
    INLINE float from_word_##mode(uint32_t x)                                  \
    {                                                                          \
        float y;                                                               \
        __asm__("fcvt.s.wu %0, %1, " #mode : "=f"(y) : "r"(x));                \
        return y;                                                              \
    }
#endif
ROUNDED(rne)
ROUNDED(rtz)
ROUNDED(rdn)
ROUNDED(rup)

/* x = *word * *scale but for bits below the last place of *word, of which there is one if its last bit is set. A float
 * of 24 bits is the same for both, rounded in any mode. */
INLINE void leading_word(uint64_t x, uint32_t *word, float *scale)
{
    const uint32_t high = (uint32_t)(x >> 32), wide = mask_of(high != 0);
    const uint32_t top = choose_bits(wide, high, (uint32_t)x), below = (uint32_t)x & wide;
    const uint32_t places = (uint32_t)__builtin_clz(top | 1);
    *word = top << places | below >> 1 >> (31 - places) | (below << places != 0);
    *scale = float_of((127 + (wide & 32) - places) << 23);
}

INLINE uint32_t sign_of(int64_t x) { return (uint32_t)((uint64_t)x >> 32) & SIGN_BIT; }
INLINE uint64_t size_of(int64_t x) { return x < 0 ? 0 - (uint64_t)x : (uint64_t)x; }

/* `minus` is the mode for the size of a negative number. */
#define FROM_LONG(unsigned_name, name, mode, minus)                            \
    float unsigned_name(uint64_t x);                                           \
    float name(int64_t x);                                                     \
    float unsigned_name(uint64_t x)                                            \
    {                                                                          \
        uint32_t word;                                                         \
        float scale;                                                           \
        leading_word(x, &word, &scale);                                        \
        return from_word_##mode(word) * scale;                                 \
    }                                                                          \
    float name(int64_t x)                                                      \
    {                                                                          \
        uint32_t word;                                                         \
        float scale;                                                           \
        leading_word(size_of(x), &word, &scale);                               \
        const uint32_t sign = sign_of(x);                                      \
        const float size = choose(mask_of(sign != 0), from_word_##minus(word), from_word_##mode(word)); \
        return float_of(bits_of(size * scale) | sign);                         \
    }
FROM_LONG(__floatundisf, __floatdisf, rne, rne)
FROM_LONG(__metronome_ulong_rtz, __metronome_long_rtz, rtz, rtz)
FROM_LONG(__metronome_ulong_rtp, __metronome_long_rtp, rup, rdn)
FROM_LONG(__metronome_ulong_rtn, __metronome_long_rtn, rdn, rup)

/* |x| towards zero, for |x| < 2^64. */
INLINE uint64_t whole_of(float x)
{
    const uint32_t bits = bits_of(x) & ~SIGN_BIT, significand = (bits & 0x7FFFFF) | 0x800000;
    const int32_t places = (int32_t)(bits >> 23) - 150;
    const uint32_t far = mask_of(places >= 32), right = mask_of(places < 0), shift = (uint32_t)places & 31;
    const uint32_t left = significand << shift;
    const uint32_t low = choose_bits(right, (significand >> (-places & 31)) & mask_of(places > -24), left & ~far);
    const uint32_t high = choose_bits(far, left, significand >> 1 >> (31 - shift)) & ~right;
    return (uint64_t)high << 32 | low;
}

INLINE uint64_t choose_long(uint32_t mask, uint64_t a, uint64_t b)
{
    return (uint64_t)choose_bits(mask, (uint32_t)(a >> 32), (uint32_t)(b >> 32)) << 32 | choose_bits(mask, (uint32_t)a, (uint32_t)b);
}

/* As fcvt does it: the nearest number there is, the greatest one for a NaN. */
int64_t __fixsfdi(float x)
{
    const uint32_t negative = mask_of(x < 0.0f);
    const uint64_t size = whole_of(x), sign = choose_long(negative, ~0ull, 0);
    return (int64_t)choose_long(mask_of(magnitude(x) < 0x1p63f), (size ^ sign) - sign, 0x7FFFFFFFFFFFFFFFull ^ sign);
}

uint64_t __fixunssfdi(float x)
{
    return choose_long(mask_of(x < 0.0f), 0, choose_long(mask_of(x < 0x1p64f), whole_of(x), ~0ull));
}
