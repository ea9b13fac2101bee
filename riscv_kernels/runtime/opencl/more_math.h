/* Mathematics that is in OpenCL C, and not in the C library of the kernels. Errors are some units of the last place. */
#ifndef METRONOME_OPENCL_MORE_MATH_H
#define METRONOME_OPENCL_MORE_MATH_H

METRONOME_CL uint __metronome_bits(float x) { return __builtin_astype(x, uint); }
METRONOME_CL float __metronome_float(uint x) { return __builtin_astype(x, float); }
/* 2 to the power of an exponent between -126 and 127. */
METRONOME_CL float __metronome_power(int exponent) { return __metronome_float((uint)(exponent + 127) << 23); }

/* In three steps, of which only the last one rounds, unless the result is an infinity anyway. */
METRONOME_CL float ldexp(float x, int exponent)
{
    const int first = exponent > 127 ? 127 : exponent < -126 ? -102 : 0, left = exponent - first;
    const int second = left > 127 ? 127 : left < -126 ? -102 : 0, third = left - second;
    const int last = third > 127 ? 127 : third < -126 ? -126 : third;
    return x * __metronome_power(first) * __metronome_power(second) * __metronome_power(last);
}
METRONOME_WIDEN2(float, float, int, ldexp)
#define METRONOME_LDEXP(type, vector) METRONOME_CL vector ldexp(vector x, int exponent) { return ldexp(x, ((METRONOME_INT(vector))exponent)); }
#define METRONOME_INT(vector) METRONOME_INT_##vector
#define METRONOME_INT_float2 int2
#define METRONOME_INT_float3 int3
#define METRONOME_INT_float4 int4
#define METRONOME_INT_float8 int8
#define METRONOME_INT_float16 int16
METRONOME_EACH_WIDTH(METRONOME_LDEXP, float)

METRONOME_CL int ilogb(float x)
{
    const float size = fabs(x);
    const int small = size < FLT_MIN;
    const int exponent = (int)(__metronome_bits(small ? size * 0x1p24f : size) >> 23) - 127 - (small ? 24 : 0);
    return size == 0 ? FP_ILOGB0 : size < INFINITY ? exponent : FP_ILOGBNAN;
}
METRONOME_WIDEN1(int, float, ilogb)
METRONOME_MATH1(logb, x == 0 ? -INFINITY : fabs(x) < INFINITY ? (float)ilogb(x) : x * x)

METRONOME_CL float hypot(float x, float y)
{
    const float most = fmax(fabs(x), fabs(y));
    const float scale = most > 0x1p60f ? 0x1p-70f : most < 0x1p-40f ? 0x1p80f : 1.0f;
    const float a = x * scale, b = y * scale;
    return __builtin_isinf(x) || __builtin_isinf(y) ? INFINITY : sqrt(fma(a, a, b * b)) / scale;
}
METRONOME_WIDEN2(float, float, float, hypot)

METRONOME_CL float atan(float x)
{
    const float size = fabs(x);
    const int far = size > 2.4142135f, middle = size > 0.41421357f;
    const float t = far ? -1.0f / size : middle ? (size - 1.0f) / (size + 1.0f) : size;
    const float z = t * t;
    const float series = ((8.05374449538e-2f * z - 1.38776856032e-1f) * z + 1.99777106478e-1f) * z - 3.33329491539e-1f;
    return copysign((far ? M_PI_2_F : middle ? M_PI_4_F : 0.0f) + (series * z * t + t), x);
}
METRONOME_WIDEN1(float, float, atan)

METRONOME_CL float atan2(float y, float x)
{
    const float a = fabs(x), b = fabs(y);
    const float low = fmin(a, b), high = fmax(a, b);
    /* Both infinite: 45 degrees. Both 0: none. */
    const float quotient = high == 0 ? 0.0f : low == high ? 1.0f : low / high;
    float angle = atan(quotient);
    angle = b > a ? M_PI_2_F - angle : angle;
    angle = __metronome_bits(x) >> 31 ? M_PI_F - angle : angle;
    return x != x || y != y ? NAN : copysign(angle, y);
}
METRONOME_WIDEN2(float, float, float, atan2)

METRONOME_CL float asin(float x)
{
    const float size = fabs(x);
    const int outer = size > 0.5f;
    const float z = outer ? 0.5f * (1.0f - size) : size * size;
    const float t = outer ? sqrt(z) : size;
    const float p = (((4.2163199048e-2f * z + 2.4181311049e-2f) * z + 4.5470025998e-2f) * z + 7.4953002686e-2f) * z;
    const float angle = (p + 1.6666752422e-1f) * z * t + t;
    return copysign(outer ? M_PI_2_F - 2.0f * angle : angle, x);
}
METRONOME_WIDEN1(float, float, asin)

METRONOME_CL float acos(float x)
{
    return x > 0.5f ? 2.0f * asin(sqrt(0.5f * (1.0f - x))) :
           x < -0.5f ? M_PI_F - 2.0f * asin(sqrt(0.5f * (1.0f + x))) : M_PI_2_F - asin(x);
}
METRONOME_WIDEN1(float, float, acos)

METRONOME_CL float sinh(float x)
{
    const float size = fabs(x), z = x * x;
    const float half_power = exp(size * 0.5f);
    const float large = size > 80.0f ? 0.5f * half_power * half_power : 0.5f * (exp(size) - 1.0f / exp(size));
    const float small = ((2.03721912945e-4f * z + 8.33028376239e-3f) * z + 1.66667160211e-1f) * z * size + size;
    return copysign(size > 1.0f ? large : small, x);
}
METRONOME_WIDEN1(float, float, sinh)
METRONOME_CL float cosh(float x)
{
    const float half_power = exp(fabs(x) * 0.5f);
    const float power = half_power * half_power;
    return fabs(x) > 80.0f ? 0.5f * half_power * half_power : 0.5f * (exp(fabs(x)) + 1.0f / power);
}
METRONOME_WIDEN1(float, float, cosh)

METRONOME_CL float cbrt(float x)
{
    const float root = __metronome_powf(fabs(x), 1.0f / 3.0f);
    const int usual = root > 0 && root < INFINITY;
    return copysign(usual ? root - (root - fabs(x) / (root * root)) / 3.0f : root, x);
}
METRONOME_WIDEN1(float, float, cbrt)

/* 1 / pi in two parts, so that whole multiples of pi / 4 give their exact number. */
METRONOME_CL float __metronome_per_pi(float x) { return fma(x, 0x1.45f306p-2f, x * 0x1.b9391p-27f); }
METRONOME_MATH1(asinpi, __metronome_per_pi(asin(x)))
METRONOME_MATH1(acospi, __metronome_per_pi(acos(x)))
METRONOME_MATH1(atanpi, __metronome_per_pi(atan(x)))
METRONOME_MATH2(atan2pi, __metronome_per_pi(atan2(x, y)))

METRONOME_CL float nan(uint code) { return __metronome_float(0x7fc00000u | (code & 0x3fffffu)); }
METRONOME_WIDEN1(float, uint, nan)
METRONOME_CL float nextafter(float x, float y)
{
    const uint bits = __metronome_bits(x);
    const uint next = x == 0 ? (__metronome_bits(y) & 0x80000000u) | 1 : (x < y) == (x > 0) ? bits + 1 : bits - 1;
    return x != x || y != y ? NAN : x == y ? y : __metronome_float(next);
}
METRONOME_WIDEN2(float, float, float, nextafter)

#endif
