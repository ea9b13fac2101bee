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

#define METRONOME_MUL_HI(type, wide, bits)                              \
    METRONOME_INTEGER2(type, type, mul_hi, ((wide)x * (wide)y) >> bits) \
    METRONOME_CL type mad_hi(type x, type y, type z) { return mul_hi(x, y) + z; } \
    METRONOME_WIDEN3(type, mad_hi)
METRONOME_MUL_HI(char, int, 8)
METRONOME_MUL_HI(uchar, uint, 8)
METRONOME_MUL_HI(short, int, 16)
METRONOME_MUL_HI(ushort, uint, 16)
METRONOME_MUL_HI(int, long, 32)
METRONOME_MUL_HI(uint, ulong, 32)

#define METRONOME_24(type)                                                       \
    METRONOME_INTEGER2(type, type, mul24, x * y)                                 \
    METRONOME_CL type mad24(type x, type y, type z) { return x * y + z; }        \
    METRONOME_WIDEN3(type, mad24)
METRONOME_24(int)
METRONOME_24(uint)

METRONOME_CL short upsample(char high, uchar low) { return (short)(high * 256 + low); }
METRONOME_CL ushort upsample(uchar high, uchar low) { return (ushort)(high << 8 | low); }
METRONOME_CL int upsample(short high, ushort low) { return high * 65536 + low; }
METRONOME_CL uint upsample(ushort high, ushort low) { return (uint)high << 16 | low; }
METRONOME_CL long upsample(int high, uint low) { return (long)((ulong)(uint)high << 32 | low); }
METRONOME_CL ulong upsample(uint high, uint low) { return (ulong)high << 32 | low; }

#endif
