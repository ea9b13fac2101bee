/* Mathematics in float. No function has a branch, so lanes may call them with different arguments.
 *
 * Double is not supported: write expf(x) and 2.0f, not exp(x) and 2.0. errno is not set; the flags of fcsr may say
 * inexact or invalid where the result is exact. The worst errors are over all floats, in units of the last place of the
 * exact result (`python -m tests.riscv_kernels.measure_libm --all`).
 */
#ifndef METRONOME_MATH_H
#define METRONOME_MATH_H

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VALF __builtin_inff()
#define M_PI_F 0x1.921fb6p+1f
#define isnan(x) __builtin_isnan(x)

#define METRONOME_MATH static __inline__ __attribute__((__always_inline__))

/* One instruction each, or with --soft-float a call; exact, or rounded once. */
METRONOME_MATH float fabsf(float __x) { return __builtin_fabsf(__x); }
METRONOME_MATH float copysignf(float __x, float __y) { return __builtin_copysignf(__x, __y); }
#ifdef METRONOME_SOFT_FLOAT
float sqrtf(float __x);
float fminf(float __x, float __y);
float fmaxf(float __x, float __y);
float fmaf(float __x, float __y, float __z);
#else
METRONOME_MATH float sqrtf(float __x) { return __builtin_sqrtf(__x); }
METRONOME_MATH float fminf(float __x, float __y) { return __builtin_fminf(__x, __y); }
METRONOME_MATH float fmaxf(float __x, float __y) { return __builtin_fmaxf(__x, __y); }
METRONOME_MATH float fmaf(float __x, float __y, float __z) { return __builtin_fmaf(__x, __y, __z); }
#endif

/* Exact. */
float floorf(float __x);
float ceilf(float __x);
float truncf(float __x);
float roundf(float __x);            /* halves away from zero */
float rintf(float __x);             /* halves to even */

/* Worst error in ulp. */
float expf(float __x);              /* 0.77 */
float exp2f(float __x);             /* 0.78 */
float logf(float __x);              /* 0.81 */
float log2f(float __x);             /* 1.10 */
float log10f(float __x);            /* 1.27 */
float powf(float __x, float __y);   /* 0.85, over a sample */
float sinf(float __x);              /* 1.03 */
float cosf(float __x);              /* 1.06 */
float tanf(float __x);              /* 1.42 */
float tanhf(float __x);             /* 1.34 */
float erff(float __x);              /* 1.08 */

#define METRONOME_NO_DOUBLE(name) \
    double name(double) __attribute__((__unavailable__("not supported: double; use " #name "f and float")))
METRONOME_NO_DOUBLE(fabs);
METRONOME_NO_DOUBLE(sqrt);
METRONOME_NO_DOUBLE(floor);
METRONOME_NO_DOUBLE(ceil);
METRONOME_NO_DOUBLE(trunc);
METRONOME_NO_DOUBLE(round);
METRONOME_NO_DOUBLE(rint);
METRONOME_NO_DOUBLE(exp);
METRONOME_NO_DOUBLE(exp2);
METRONOME_NO_DOUBLE(log);
METRONOME_NO_DOUBLE(log2);
METRONOME_NO_DOUBLE(log10);
METRONOME_NO_DOUBLE(sin);
METRONOME_NO_DOUBLE(cos);
METRONOME_NO_DOUBLE(tan);
METRONOME_NO_DOUBLE(tanh);
METRONOME_NO_DOUBLE(erf);
double pow(double, double) __attribute__((__unavailable__("not supported: double; use powf and float")));
double fmin(double, double) __attribute__((__unavailable__("not supported: double; use fminf and float")));
double fmax(double, double) __attribute__((__unavailable__("not supported: double; use fmaxf and float")));

#endif
