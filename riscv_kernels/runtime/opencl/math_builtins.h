/* Mathematics in float, of scalars and vectors. They use the functions of riscv_kernels/runtime/math.h. */
#ifndef METRONOME_OPENCL_MATH_BUILTINS_H
#define METRONOME_OPENCL_MATH_BUILTINS_H

#define METRONOME_LIBRARY(name)                                     \
    float __metronome_##name##f(float);                                 \
    METRONOME_CL float name(float x) { return __metronome_##name##f(x); } \
    METRONOME_WIDEN1(float, float, name)
METRONOME_LIBRARY(floor)
METRONOME_LIBRARY(ceil)
METRONOME_LIBRARY(trunc)
METRONOME_LIBRARY(round)
METRONOME_LIBRARY(rint)
METRONOME_LIBRARY(exp)
METRONOME_LIBRARY(exp2)
METRONOME_LIBRARY(log)
METRONOME_LIBRARY(log2)
METRONOME_LIBRARY(log10)
METRONOME_LIBRARY(sin)
METRONOME_LIBRARY(cos)
METRONOME_LIBRARY(tan)
METRONOME_LIBRARY(tanh)
METRONOME_LIBRARY(erf)
METRONOME_LIBRARY(erfc)
METRONOME_LIBRARY(expm1)
METRONOME_LIBRARY(log1p)
METRONOME_LIBRARY(asinh)
METRONOME_LIBRARY(acosh)
METRONOME_LIBRARY(atanh)
METRONOME_LIBRARY(sinpi)
METRONOME_LIBRARY(cospi)
METRONOME_LIBRARY(tanpi)
METRONOME_LIBRARY(tgamma)
float __metronome_powf(float, float);
float __metronome_pownf(float, int);
float __metronome_rootnf(float, int);

#define METRONOME_MATH1(name, value)                    \
    METRONOME_CL float name(float x) { return value; }  \
    METRONOME_WIDEN1(float, float, name)
#define METRONOME_MATH2(name, value)                             \
    METRONOME_CL float name(float x, float y) { return value; }  \
    METRONOME_WIDEN2(float, float, float, name)

METRONOME_MATH1(fabs, __builtin_fabsf(x))
METRONOME_MATH1(sqrt, __builtin_sqrtf(x))
METRONOME_MATH1(rsqrt, 1.0f / __builtin_sqrtf(x))
METRONOME_MATH1(exp10, __metronome_powf(10.0f, x))
METRONOME_MATH2(pow, __metronome_powf(x, y))
/* Unlike pow it has no value for 0 to 0, infinity to 0, 1 to infinity and negative x. */
METRONOME_MATH2(powr, x < 0 || !(x == x) || !(y == y) || (y == 0 && (x == 0 || x == INFINITY)) ||
                      (x == 1.0f && fabs(y) == INFINITY) ? NAN : __metronome_powf(fabs(x), y))
METRONOME_MATH2(copysign, __builtin_copysignf(x, y))
METRONOME_MATH2(fdim, x > y ? x - y : x <= y ? 0.0f : NAN)
METRONOME_MATH2(fmin, __builtin_fminf(x, y))
METRONOME_MATH2(fmax, __builtin_fmaxf(x, y))
METRONOME_MATH2(maxmag, fabs(x) > fabs(y) ? x : fabs(y) > fabs(x) ? y : __builtin_fmaxf(x, y))
METRONOME_MATH2(minmag, fabs(x) < fabs(y) ? x : fabs(y) < fabs(x) ? y : __builtin_fminf(x, y))

METRONOME_CL float pown(float x, int y) { return __metronome_pownf(x, y); }
METRONOME_WIDEN2(float, float, int, pown)
METRONOME_CL float rootn(float x, int y) { return __metronome_rootnf(x, y); }
METRONOME_WIDEN2(float, float, int, rootn)

METRONOME_CL float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
METRONOME_WIDEN3(float, fma)
METRONOME_CL float mad(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
METRONOME_WIDEN3(float, mad)

#define METRONOME_MIN_MAX(type, vector)                                          \
    METRONOME_CL vector fmin(vector x, type y) { return fmin(x, (vector)y); }    \
    METRONOME_CL vector fmax(vector x, type y) { return fmax(x, (vector)y); }
METRONOME_EACH_WIDTH(METRONOME_MIN_MAX, float)

/* No function here is faster than another one. */
METRONOME_MATH1(native_cos, cos(x))
METRONOME_MATH1(native_exp, exp(x))
METRONOME_MATH1(native_exp2, exp2(x))
METRONOME_MATH1(native_exp10, exp10(x))
METRONOME_MATH1(native_log, log(x))
METRONOME_MATH1(native_log2, log2(x))
METRONOME_MATH1(native_log10, log10(x))
METRONOME_MATH1(native_rsqrt, rsqrt(x))
METRONOME_MATH1(native_sin, sin(x))
METRONOME_MATH1(native_sqrt, sqrt(x))
METRONOME_MATH1(native_tan, tan(x))
METRONOME_MATH1(native_recip, 1.0f / x)
METRONOME_MATH2(native_divide, x / y)
METRONOME_MATH2(native_powr, powr(x, y))
METRONOME_MATH1(half_cos, cos(x))
METRONOME_MATH1(half_exp, exp(x))
METRONOME_MATH1(half_exp2, exp2(x))
METRONOME_MATH1(half_exp10, exp10(x))
METRONOME_MATH1(half_log, log(x))
METRONOME_MATH1(half_log2, log2(x))
METRONOME_MATH1(half_log10, log10(x))
METRONOME_MATH1(half_rsqrt, rsqrt(x))
METRONOME_MATH1(half_sin, sin(x))
METRONOME_MATH1(half_sqrt, sqrt(x))
METRONOME_MATH1(half_tan, tan(x))
METRONOME_MATH1(half_recip, 1.0f / x)
METRONOME_MATH2(half_divide, x / y)
METRONOME_MATH2(half_powr, powr(x, y))

#endif
