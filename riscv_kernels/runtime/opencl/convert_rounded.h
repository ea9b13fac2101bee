/* convert_T with a rounding mode or _sat for one element: __metronome_rte and the others round to a whole number,
 * which an integer is; __metronome_sat_T takes the nearest number there is; __metronome_float_rtz and the others are
 * conversions to float in which the mode counts. */
#ifndef METRONOME_OPENCL_CONVERT_ROUNDED_H
#define METRONOME_OPENCL_CONVERT_ROUNDED_H

#define METRONOME_EACH(macro) \
    macro(char) macro(uchar) macro(short) macro(ushort) macro(int) macro(uint) macro(long) macro(ulong)
#define METRONOME_EACH_FROM(macro, to) \
    macro(to, char) macro(to, uchar) macro(to, short) macro(to, ushort) \
    macro(to, int) macro(to, uint) macro(to, long) macro(to, ulong)

#define METRONOME_SAME(type, name)                       \
    METRONOME_CL type name(type x) { return x; }         \
    METRONOME_CL type##2 name(type##2 x) { return x; }   \
    METRONOME_CL type##3 name(type##3 x) { return x; }   \
    METRONOME_CL type##4 name(type##4 x) { return x; }   \
    METRONOME_CL type##8 name(type##8 x) { return x; }   \
    METRONOME_CL type##16 name(type##16 x) { return x; }
#define METRONOME_WHOLE(type) \
    METRONOME_SAME(type, __metronome_rte) METRONOME_SAME(type, __metronome_rtp) METRONOME_SAME(type, __metronome_rtn)
METRONOME_EACH(METRONOME_WHOLE)
METRONOME_MATH1(__metronome_rte, rint(x))
METRONOME_MATH1(__metronome_rtp, ceil(x))
METRONOME_MATH1(__metronome_rtn, floor(x))

#define METRONOME_LEAST_char CHAR_MIN
#define METRONOME_LEAST_uchar 0
#define METRONOME_LEAST_short SHRT_MIN
#define METRONOME_LEAST_ushort 0
#define METRONOME_LEAST_int INT_MIN
#define METRONOME_LEAST_uint 0
#define METRONOME_LEAST_long LONG_MIN
#define METRONOME_LEAST_ulong 0
#define METRONOME_MOST_char CHAR_MAX
#define METRONOME_MOST_uchar UCHAR_MAX
#define METRONOME_MOST_short SHRT_MAX
#define METRONOME_MOST_ushort USHRT_MAX
#define METRONOME_MOST_int INT_MAX
#define METRONOME_MOST_uint UINT_MAX
#define METRONOME_MOST_long LONG_MAX
#define METRONOME_MOST_ulong ULONG_MAX

/* The limits are those of both types. */
#define METRONOME_SATURATE(to, from)                                                                                     \
    METRONOME_CL to __metronome_sat_##to(from x)                                                                         \
    {                                                                                                                    \
        const from least = (from)((long)METRONOME_LEAST_##to > (long)METRONOME_LEAST_##from ? METRONOME_LEAST_##to       \
                                                                                            : METRONOME_LEAST_##from);   \
        const from most = (from)((ulong)METRONOME_MOST_##to < (ulong)METRONOME_MOST_##from ? METRONOME_MOST_##to         \
                                                                                           : METRONOME_MOST_##from);     \
        return (to)(x < least ? least : x > most ? most : x);                                                            \
    }                                                                                                                    \
    METRONOME_WIDEN1(to, from, __metronome_sat_##to)
/* 0 for a NaN. */
#define METRONOME_SATURATE_FLOAT(to)                                                                  \
    METRONOME_CL to __metronome_sat_##to(float x)                                                     \
    {                                                                                                 \
        return x <= (float)METRONOME_LEAST_##to ? (to)METRONOME_LEAST_##to :                          \
               x >= (float)METRONOME_MOST_##to ? (to)METRONOME_MOST_##to : x == x ? (to)x : (to)0;    \
    }                                                                                                 \
    METRONOME_WIDEN1(to, float, __metronome_sat_##to)
#define METRONOME_SATURATE_ALL(to) METRONOME_EACH_FROM(METRONOME_SATURATE, to) METRONOME_SATURATE_FLOAT(to)
METRONOME_EACH(METRONOME_SATURATE_ALL)

/* `mode` is OpenCL's, `rounding` the instruction's. */
#define METRONOME_EXACT(type, mode)                                            \
    METRONOME_CL float __metronome_float_##mode(type x) { return (float)x; }   \
    METRONOME_WIDEN1(float, type, __metronome_float_##mode)
#ifdef METRONOME_SOFT_FLOAT
/* In 64 bits, which hold every int and uint. */
#define METRONOME_IN_MODE(type, instruction, mode, rounding)                                    \
    float __metronome_long_##mode(long);                                                        \
    METRONOME_CL float __metronome_float_##mode(type x) { return __metronome_long_##mode(x); }  \
    METRONOME_WIDEN1(float, type, __metronome_float_##mode)
#else
#define METRONOME_IN_MODE(type, instruction, mode, rounding)                                    \
    METRONOME_CL float __metronome_float_##mode(type x)                                         \
    {                                                                                           \
        float y;                                                                                \
        __asm__(instruction " %0, %1, " rounding : "=f"(y) : "r"(x));                           \
        return y;                                                                               \
    }                                                                                           \
    METRONOME_WIDEN1(float, type, __metronome_float_##mode)
#endif
#define METRONOME_LONG_IN_MODE(type, mode)                                                                \
    float __metronome_##type##_##mode(type);                                                              \
    METRONOME_CL float __metronome_float_##mode(type x) { return __metronome_##type##_##mode(x); }        \
    METRONOME_WIDEN1(float, type, __metronome_float_##mode)
#define METRONOME_TO_FLOAT(mode, rounding)                                                                \
    METRONOME_EXACT(char, mode) METRONOME_EXACT(uchar, mode) METRONOME_EXACT(short, mode)                 \
    METRONOME_EXACT(ushort, mode) METRONOME_SAME(float, __metronome_float_##mode)                         \
    METRONOME_IN_MODE(int, "fcvt.s.w", mode, rounding) METRONOME_IN_MODE(uint, "fcvt.s.wu", mode, rounding) \
    METRONOME_LONG_IN_MODE(long, mode) METRONOME_LONG_IN_MODE(ulong, mode)
METRONOME_TO_FLOAT(rtz, "rtz")
METRONOME_TO_FLOAT(rtp, "rup")
METRONOME_TO_FLOAT(rtn, "rdn")

#endif
