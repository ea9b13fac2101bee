/* Square root, a bit a step. */
#include "soft.h"

float sqrtf(float x);

float sqrtf(float x)
{
    const uint32_t bits = bits_of(x);
    int32_t exponent;
    const uint32_t significand = unpack_normalised(magnitude_of(bits), &exponent);
    /* An even power of two, and a number from 1 to 4; `exponent` is odd if the power is even. */
    const uint32_t odd = (uint32_t)(exponent & 1) ^ 1;
    uint32_t rest = significand << odd << 1, root = 0, twice = 0;
    /* The root so far is root = twice / 2, and `rest` what its square leaves; the next bit fits if 2 root + bit does. */
    for (uint32_t bit = 1u << 24; bit != 0; bit >>= 1) {
        const uint32_t with = twice + bit, fits = mask_of(with <= rest);
        rest = (rest - (with & fits)) << 1;
        twice += bit << 1 & fits;
        root |= bit & fits;
    }
    const uint32_t result = round_and_pack(0, ((exponent - 127) >> 1) + 127, root << 6 | bit_of(rest != 0));
    const uint32_t itself = mask_of(magnitude_of(bits) == 0) | mask_of(bits == INFINITY_BITS);
    const uint32_t invalid = mask_of(magnitude_of(bits) > INFINITY_BITS) | mask_of(bits > SIGN_BIT);
    return float_of(choose_bits(invalid, QUIET_NAN, choose_bits(itself, bits, result)));
}
