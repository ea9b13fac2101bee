/* Integer functions, of all integer types and their vectors. */
#ifndef METRONOME_OPENCL_INTEGERS_H
#define METRONOME_OPENCL_INTEGERS_H

#define METRONOME_INTEGER1(type, result, name, value)       \
    METRONOME_CL result name(type x) { return (result)(value); } \
    METRONOME_WIDEN1(result, type, name)
#define METRONOME_INTEGER2(type, result, name, value)               \
    METRONOME_CL result name(type x, type y) { return (result)(value); } \
    METRONOME_WIDEN2(result, type, type, name)
#define METRONOME_INTEGER_SCALAR(type, vector)                                                             \
    METRONOME_CL vector min(vector x, type y) { return min(x, (vector)y); }                                \
    METRONOME_CL vector max(vector x, type y) { return max(x, (vector)y); }                                \
    METRONOME_CL vector clamp(vector x, type low, type high) { return clamp(x, (vector)low, (vector)high); }

/* `own` is the unsigned type of the same size. */
#define METRONOME_INTEGERS(type, own, bits)                                                                \
    METRONOME_INTEGER1(type, own, abs, x < 0 ? 0 - (own)x : (own)x)                                        \
    METRONOME_INTEGER2(type, own, abs_diff, x < y ? (own)y - (own)x : (own)x - (own)y)                     \
    METRONOME_INTEGER2(type, type, add_sat, __builtin_elementwise_add_sat(x, y))                           \
    METRONOME_INTEGER2(type, type, sub_sat, __builtin_elementwise_sub_sat(x, y))                           \
    METRONOME_INTEGER2(type, type, hadd, (x & y) + ((x ^ y) >> 1))                                         \
    METRONOME_INTEGER2(type, type, rhadd, (x | y) - ((x ^ y) >> 1))                                        \
    METRONOME_INTEGER2(type, type, min, x < y ? x : y)                                                     \
    METRONOME_INTEGER2(type, type, max, x > y ? x : y)                                                     \
    METRONOME_INTEGER2(type, type, rotate, (own)x << (y & (bits - 1)) | (own)x >> ((bits - (y & (bits - 1))) & (bits - 1))) \
    METRONOME_INTEGER1(type, type, clz, __builtin_clzg((own)x, bits))                                      \
    METRONOME_INTEGER1(type, type, popcount, __builtin_popcountg((own)x))                                  \
    METRONOME_CL type clamp(type x, type low, type high) { return min(max(x, low), high); }                \
    METRONOME_WIDEN3(type, clamp)                                                                          \
    METRONOME_EACH_WIDTH(METRONOME_INTEGER_SCALAR, type)
METRONOME_INTEGERS(char, uchar, 8)
METRONOME_INTEGERS(uchar, uchar, 8)
METRONOME_INTEGERS(short, ushort, 16)
METRONOME_INTEGERS(ushort, ushort, 16)
METRONOME_INTEGERS(int, uint, 32)
METRONOME_INTEGERS(uint, uint, 32)
METRONOME_INTEGERS(long, ulong, 64)
METRONOME_INTEGERS(ulong, ulong, 64)

/* Sums and products wrap: from one that cannot, the compiler would draw conclusions. */
#define METRONOME_MUL_HI(type, wide, bits)                              \
    METRONOME_INTEGER2(type, type, mul_hi, ((wide)x * (wide)y) >> bits) \
    METRONOME_CL type mad_hi(type x, type y, type z) { return (type)((wide)mul_hi(x, y) + (wide)z); } \
    METRONOME_WIDEN3(type, mad_hi)
METRONOME_MUL_HI(char, int, 8)
METRONOME_MUL_HI(uchar, uint, 8)
METRONOME_MUL_HI(short, int, 16)
METRONOME_MUL_HI(ushort, uint, 16)
METRONOME_MUL_HI(int, long, 32)
METRONOME_MUL_HI(uint, ulong, 32)

/* By halves of 32 bits. */
METRONOME_CL ulong mul_hi(ulong x, ulong y)
{
    const ulong x_low = (uint)x, x_high = x >> 32, y_low = (uint)y, y_high = y >> 32;
    const ulong middle = x_high * y_low + (x_low * y_low >> 32), other = x_low * y_high + (uint)middle;
    return x_high * y_high + (middle >> 32) + (other >> 32);
}
METRONOME_CL long mul_hi(long x, long y)
{
    return (long)(mul_hi((ulong)x, (ulong)y) - (x < 0 ? (ulong)y : 0) - (y < 0 ? (ulong)x : 0));
}
#define METRONOME_MAD_HI(type)                                                    \
    METRONOME_WIDEN2(type, type, type, mul_hi)                                    \
    METRONOME_CL type mad_hi(type x, type y, type z)                              \
    {                                                                             \
        return (type)((ulong)mul_hi(x, y) + (ulong)z);                            \
    }                                                                             \
    METRONOME_WIDEN3(type, mad_hi)
METRONOME_MAD_HI(long)
METRONOME_MAD_HI(ulong)

/* `wide` has room for x * y + z. */
#define METRONOME_MAD_SAT(type, wide, least, most)                                \
    METRONOME_CL type mad_sat(type x, type y, type z)                             \
    {                                                                             \
        return (type)clamp((wide)x * (wide)y + (wide)z, (wide)(least), (wide)(most)); \
    }                                                                             \
    METRONOME_WIDEN3(type, mad_sat)
METRONOME_MAD_SAT(char, int, CHAR_MIN, CHAR_MAX)
METRONOME_MAD_SAT(uchar, uint, 0, UCHAR_MAX)
METRONOME_MAD_SAT(short, int, SHRT_MIN, SHRT_MAX)
METRONOME_MAD_SAT(ushort, ulong, 0, USHRT_MAX)
METRONOME_MAD_SAT(int, long, INT_MIN, INT_MAX)
METRONOME_MAD_SAT(uint, ulong, 0, UINT_MAX)
METRONOME_CL ulong mad_sat(ulong x, ulong y, ulong z)
{
    const ulong low = x * y + z;
    return mul_hi(x, y) || low < z ? ULONG_MAX : low;
}
METRONOME_WIDEN3(ulong, mad_sat)
METRONOME_CL long mad_sat(long x, long y, long z)
{
    const ulong product = (ulong)x * (ulong)y, low = product + (ulong)z;
    const long high = (long)((ulong)mul_hi(x, y) + (ulong)(z >> 63) + (low < product));
    return high == (long)low >> 63 ? (long)low : high < 0 ? LONG_MIN : LONG_MAX;
}
METRONOME_WIDEN3(long, mad_sat)

#define METRONOME_24(type)                                                       \
    METRONOME_INTEGER2(type, type, mul24, (uint)x * (uint)y)                     \
    METRONOME_CL type mad24(type x, type y, type z) { return (type)((uint)x * (uint)y + (uint)z); } \
    METRONOME_WIDEN3(type, mad24)
METRONOME_24(int)
METRONOME_24(uint)

METRONOME_CL short upsample(char high, uchar low) { return (short)(high * 256 + low); }
METRONOME_CL ushort upsample(uchar high, uchar low) { return (ushort)(high << 8 | low); }
METRONOME_CL int upsample(short high, ushort low) { return high * 65536 + low; }
METRONOME_CL uint upsample(ushort high, ushort low) { return (uint)high << 16 | low; }
METRONOME_CL long upsample(int high, uint low) { return (long)((ulong)(uint)high << 32 | low); }
METRONOME_CL ulong upsample(uint high, uint low) { return (ulong)high << 32 | low; }
METRONOME_WIDEN2(short, char, uchar, upsample)
METRONOME_WIDEN2(ushort, uchar, uchar, upsample)
METRONOME_WIDEN2(int, short, ushort, upsample)
METRONOME_WIDEN2(uint, ushort, ushort, upsample)
METRONOME_WIDEN2(long, int, uint, upsample)
METRONOME_WIDEN2(ulong, uint, uint, upsample)

#endif
