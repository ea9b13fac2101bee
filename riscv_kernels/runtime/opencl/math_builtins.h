/* Mathematics in float, of scalars and vectors. The functions behind these are in riscv_kernels/runtime/math.h. */
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
float __metronome_powf(float, float);

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
METRONOME_MATH1(expm1, fabs(x) < 0x1p-2f ? x * (1.0f + x * (0.5f + x * (1.0f / 6 + x * (1.0f / 24 + x * (1.0f / 120 + x * (1.0f / 720)))))) : exp(x) - 1.0f)
METRONOME_MATH2(pow, __metronome_powf(x, y))
METRONOME_MATH2(powr, __metronome_powf(x, y))
METRONOME_MATH2(copysign, __builtin_copysignf(x, y))
METRONOME_MATH2(fdim, x > y ? x - y : x <= y ? 0.0f : NAN)
METRONOME_MATH2(fmin, __builtin_fminf(x, y))
METRONOME_MATH2(fmax, __builtin_fmaxf(x, y))
METRONOME_MATH2(maxmag, fabs(x) > fabs(y) ? x : fabs(y) > fabs(x) ? y : __builtin_fmaxf(x, y))
METRONOME_MATH2(minmag, fabs(x) < fabs(y) ? x : fabs(y) < fabs(x) ? y : __builtin_fminf(x, y))

METRONOME_CL float pown(float x, int y) { return __metronome_powf(x, (float)y); }
METRONOME_WIDEN2(float, float, int, pown)
METRONOME_CL float rootn(float x, int y)
{
    const float root = __metronome_powf(y & 1 ? fabs(x) : x, 1.0f / (float)y);
    return y & 1 ? __builtin_copysignf(root, x) : root;
}
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
#define native_cos(x) cos(x)
#define native_divide(x, y) ((x) / (y))
#define native_exp(x) exp(x)
#define native_exp2(x) exp2(x)
#define native_exp10(x) exp10(x)
#define native_log(x) log(x)
#define native_log2(x) log2(x)
#define native_log10(x) log10(x)
#define native_powr(x, y) powr(x, y)
#define native_recip(x) (1.0f / (x))
#define native_rsqrt(x) rsqrt(x)
#define native_sin(x) sin(x)
#define native_sqrt(x) sqrt(x)
#define native_tan(x) tan(x)
#define half_cos(x) cos(x)
#define half_divide(x, y) ((x) / (y))
#define half_exp(x) exp(x)
#define half_exp2(x) exp2(x)
#define half_exp10(x) exp10(x)
#define half_log(x) log(x)
#define half_log2(x) log2(x)
#define half_log10(x) log10(x)
#define half_powr(x, y) powr(x, y)
#define half_recip(x) (1.0f / (x))
#define half_rsqrt(x) rsqrt(x)
#define half_sin(x) sin(x)
#define half_sqrt(x) sqrt(x)
#define half_tan(x) tan(x)

#endif
