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
#define isnan(x) ((x) != (x))

#define METRONOME_MATH static inline __attribute__((always_inline))

/* One instruction each; exact, or rounded once. */
METRONOME_MATH float fabsf(float x) { return __builtin_fabsf(x); }
METRONOME_MATH float sqrtf(float x) { return __builtin_sqrtf(x); }
METRONOME_MATH float fminf(float x, float y) { return __builtin_fminf(x, y); }
METRONOME_MATH float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
METRONOME_MATH float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
METRONOME_MATH float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }

/* Exact. */
float floorf(float x);
float ceilf(float x);
float truncf(float x);
float roundf(float x); /* halves away from zero */
float rintf(float x);  /* halves to even */

/* Worst error in ulp. */
float expf(float x);                /* 0.77 */
float exp2f(float x);               /* 0.78 */
float logf(float x);                /* 0.81 */
float log2f(float x);               /* 1.10 */
float log10f(float x);              /* 1.27 */
float powf(float x, float y); /* 0.85, over a sample */
float sinf(float x);                /* 1.03 */
float cosf(float x);                /* 1.06 */
float tanf(float x);                /* 1.42 */
float tanhf(float x);               /* 1.34 */
float erff(float x);                /* 1.08 */

#define METRONOME_NO_DOUBLE(name) \
    double name(double) __attribute__((unavailable("not supported: double; use " #name "f and float")))
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
double pow(double, double) __attribute__((unavailable("not supported: double; use powf and float")));
double fmin(double, double) __attribute__((unavailable("not supported: double; use fminf and float")));
double fmax(double, double) __attribute__((unavailable("not supported: double; use fmaxf and float")));

#endif
