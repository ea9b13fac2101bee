/* fmod, remainder, remquo: exact. Each step takes away the greatest multiple of y by a power of two. */
#ifndef METRONOME_OPENCL_REMAINDERS_H
#define METRONOME_OPENCL_REMAINDERS_H

METRONOME_CL float fmod(float x, float y)
{
    const float divisor = fabs(y);
    float rest = fabs(x);
    if (!(rest < INFINITY) || !(divisor > 0))
        return NAN;
    while (rest >= divisor) {
        const int difference = ilogb(rest) - ilogb(divisor);
        const float multiple = ldexp(divisor, difference);
        rest -= multiple > rest ? multiple * 0.5f : multiple;
    }
    return copysign(rest, x);
}
METRONOME_WIDEN2(float, float, float, fmod)
#define METRONOME_FMOD(type, vector) METRONOME_CL vector fmod(vector x, type y) { return fmod(x, (vector)y); }
METRONOME_EACH_WIDTH(METRONOME_FMOD, float)

METRONOME_CL float remquo(float x, float y, __private int *quotient)
{
    const float divisor = fabs(y);
    float rest = fabs(x);
    uint times = 0;
    *quotient = 0;
    if (!(rest < INFINITY) || !(divisor > 0))
        return NAN;
    while (rest >= divisor) {
        const int difference = ilogb(rest) - ilogb(divisor);
        const float multiple = ldexp(divisor, difference);
        const int much = multiple > rest;
        rest -= much ? multiple * 0.5f : multiple;
        times += difference - much < 7 ? 1u << (difference - much) : 0;
    }
    /* To the nearest multiple, the even one of two. */
    const float other = divisor - rest;
    const int up = rest > other || (rest == other && (times & 1));
    rest = up ? rest - divisor : rest;
    times = (times + up) & 127;
    const uint sign = __metronome_bits(x) & 0x80000000u;
    *quotient = (__metronome_bits(y) & 0x80000000u) == sign ? (int)times : -(int)times;
    return __metronome_float(__metronome_bits(rest) ^ sign);
}
#define METRONOME_REMQUO_WIDE(width, first, second, part)                                          \
    METRONOME_CL float##width remquo(float##width x, float##width y, __private int##width *quotient) \
    {                                                                                              \
        int##part a, b;                                                                            \
        const float##part low = remquo(x.first, y.first, &a), high = remquo(x.second, y.second, &b); \
        *quotient = (int##width)(a, b);                                                            \
        return (float##width)(low, high);                                                          \
    }
METRONOME_REMQUO_WIDE(2, x, y, )
METRONOME_CL float3 remquo(float3 x, float3 y, __private int3 *quotient)
{
    int2 a;
    int b;
    const float2 low = remquo(x.xy, y.xy, &a);
    const float high = remquo(x.z, y.z, &b);
    *quotient = (int3)(a, b);
    return (float3)(low, high);
}
METRONOME_REMQUO_WIDE(4, lo, hi, 2)
METRONOME_REMQUO_WIDE(8, lo, hi, 4)
METRONOME_REMQUO_WIDE(16, lo, hi, 8)
#define METRONOME_REMQUO_ELSEWHERE(space, width)                                              \
    METRONOME_CL float##width remquo(float##width x, float##width y, space int##width *quotient) \
    {                                                                                         \
        int##width value;                                                                     \
        const float##width rest = remquo(x, y, &value);                                       \
        *quotient = value;                                                                    \
        return rest;                                                                          \
    }
#define METRONOME_REMQUO(space)                                                               \
    METRONOME_REMQUO_ELSEWHERE(space, ) METRONOME_REMQUO_ELSEWHERE(space, 2)                  \
    METRONOME_REMQUO_ELSEWHERE(space, 3) METRONOME_REMQUO_ELSEWHERE(space, 4)                 \
    METRONOME_REMQUO_ELSEWHERE(space, 8) METRONOME_REMQUO_ELSEWHERE(space, 16)
METRONOME_REMQUO(__local)
METRONOME_REMQUO(__global)

METRONOME_CL float remainder(float x, float y)
{
    int quotient;
    return remquo(x, y, &quotient);
}
METRONOME_WIDEN2(float, float, float, remainder)

#endif
