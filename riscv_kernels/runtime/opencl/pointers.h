/* Functions with a second result at a pointer, in every address space that can be written. */
#ifndef METRONOME_OPENCL_POINTERS_H
#define METRONOME_OPENCL_POINTERS_H

METRONOME_CL float sincos(float x, __private float *cosine) { *cosine = cos(x); return sin(x); }
METRONOME_CL float fract(float x, __private float *whole)
{
    *whole = floor(x);
    const float rest = fabs(x) < INFINITY ? __builtin_fminf(x - *whole, 0x1.fffffep-1f) : 0.0f;
    return x != x ? x : copysign(rest, x == 0 || fabs(x) == INFINITY ? x : 1.0f);
}
METRONOME_CL float modf(float x, __private float *whole)
{
    *whole = trunc(x);
    return x != x ? x : copysign(fabs(x) < INFINITY ? x - *whole : 0.0f, x);
}
METRONOME_CL float frexp(float x, __private int *exponent)
{
    const int usual = x != 0 && fabs(x) < INFINITY;
    *exponent = usual ? ilogb(x) + 1 : 0;
    return usual ? ldexp(x, -*exponent) : x;
}
float __metronome_lgammaf_r(float, __private int *);
METRONOME_CL float lgamma_r(float x, __private int *sign) { return __metronome_lgammaf_r(x, sign); }

METRONOME_CL float lgamma(float x)
{
    int sign;
    return __metronome_lgammaf_r(x, &sign);
}
METRONOME_WIDEN1(float, float, lgamma)

#define METRONOME_POINTER_WIDE(name, type, width, first, second, part)           \
    METRONOME_CL float##width name(float##width x, __private type##width *place) \
    {                                                                            \
        type##part a, b;                                                         \
        const float##part low = name(x.first, &a), high = name(x.second, &b);    \
        *place = (type##width)(a, b);                                            \
        return (float##width)(low, high);                                        \
    }
#define METRONOME_POINTER_ELSEWHERE(name, type, width, space)                    \
    METRONOME_CL float##width name(float##width x, space type##width *place)     \
    {                                                                            \
        type##width value;                                                       \
        const float##width result = name(x, &value);                             \
        *place = value;                                                          \
        return result;                                                           \
    }
#define METRONOME_POINTER_SPACE(name, type, space)                                                  \
    METRONOME_POINTER_ELSEWHERE(name, type, , space) METRONOME_POINTER_ELSEWHERE(name, type, 2, space)  \
    METRONOME_POINTER_ELSEWHERE(name, type, 3, space) METRONOME_POINTER_ELSEWHERE(name, type, 4, space) \
    METRONOME_POINTER_ELSEWHERE(name, type, 8, space) METRONOME_POINTER_ELSEWHERE(name, type, 16, space)
#define METRONOME_POINTER(name, type)                                            \
    METRONOME_POINTER_WIDE(name, type, 2, x, y, )                                \
    METRONOME_CL float3 name(float3 x, __private type##3 *place)                 \
    {                                                                            \
        type##2 a;                                                               \
        type b;                                                                  \
        const float2 low = name(x.xy, &a);                                       \
        const float high = name(x.z, &b);                                        \
        *place = (type##3)(a, b);                                                \
        return (float3)(low, high);                                              \
    }                                                                            \
    METRONOME_POINTER_WIDE(name, type, 4, lo, hi, 2)                             \
    METRONOME_POINTER_WIDE(name, type, 8, lo, hi, 4)                             \
    METRONOME_POINTER_WIDE(name, type, 16, lo, hi, 8)                            \
    METRONOME_POINTER_SPACE(name, type, __local)                                 \
    METRONOME_POINTER_SPACE(name, type, __global)
METRONOME_POINTER(sincos, float)
METRONOME_POINTER(fract, float)
METRONOME_POINTER(modf, float)
METRONOME_POINTER(frexp, int)
METRONOME_POINTER(lgamma_r, int)

#endif
