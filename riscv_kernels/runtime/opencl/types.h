/* Scalar and vector types, and constants. */
#ifndef METRONOME_OPENCL_TYPES_H
#define METRONOME_OPENCL_TYPES_H

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef uint size_t;
typedef int ptrdiff_t;
typedef int intptr_t;
typedef uint uintptr_t;

#define METRONOME_VECTORS(type)                              \
    typedef type type##2 __attribute__((ext_vector_type(2)));  \
    typedef type type##3 __attribute__((ext_vector_type(3)));  \
    typedef type type##4 __attribute__((ext_vector_type(4)));  \
    typedef type type##8 __attribute__((ext_vector_type(8)));  \
    typedef type type##16 __attribute__((ext_vector_type(16)));

METRONOME_VECTORS(char)
METRONOME_VECTORS(uchar)
METRONOME_VECTORS(short)
METRONOME_VECTORS(ushort)
METRONOME_VECTORS(int)
METRONOME_VECTORS(uint)
METRONOME_VECTORS(long)
METRONOME_VECTORS(ulong)
METRONOME_VECTORS(float)

#define true 1
#define false 0
#define NULL ((void *)0)

#define __OPENCL_VERSION__ 120
#define CL_VERSION_1_0 100
#define CL_VERSION_1_1 110
#define CL_VERSION_1_2 120

#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-127 - 1)
#define CHAR_MAX SCHAR_MAX
#define CHAR_MIN SCHAR_MIN
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-32767 - 1)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 0xffffffffu
#define LONG_MAX 0x7fffffffffffffffl
#define LONG_MIN (-0x7fffffffffffffffl - 1)
#define ULONG_MAX 0xfffffffffffffffful

#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_10_EXP 38
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP (-37)
#define FLT_MIN_EXP (-125)
#define FLT_RADIX 2
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1.0p-126f
#define FLT_EPSILON 0x1.0p-23f
#define MAXFLOAT FLT_MAX
#define HUGE_VALF __builtin_inff()
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define FP_ILOGB0 INT_MIN
#define FP_ILOGBNAN INT_MAX

#define M_E_F 2.718281828459045f
#define M_LOG2E_F 1.4426950408889634f
#define M_LOG10E_F 0.4342944819032518f
#define M_LN2_F 0.6931471805599453f
#define M_LN10_F 2.302585092994046f
#define M_PI_F 3.141592653589793f
#define M_PI_2_F 1.5707963267948966f
#define M_PI_4_F 0.7853981633974483f
#define M_1_PI_F 0.3183098861837907f
#define M_2_PI_F 0.6366197723675814f
#define M_2_SQRTPI_F 1.1283791670955126f
#define M_SQRT2_F 1.4142135623730951f
#define M_SQRT1_2_F 0.7071067811865476f

/* Sources write these in float arithmetic too: literals are float (-cl-single-precision-constant). */
#define M_E M_E_F
#define M_LOG2E M_LOG2E_F
#define M_LOG10E M_LOG10E_F
#define M_LN2 M_LN2_F
#define M_LN10 M_LN10_F
#define M_PI M_PI_F
#define M_PI_2 M_PI_2_F
#define M_PI_4 M_PI_4_F
#define M_1_PI M_1_PI_F
#define M_2_PI M_2_PI_F
#define M_2_SQRTPI M_2_SQRTPI_F
#define M_SQRT2 M_SQRT2_F
#define M_SQRT1_2 M_SQRT1_2_F

#endif
