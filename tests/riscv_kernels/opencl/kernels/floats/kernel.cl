/* Functions of one and of two floats, a row of the result each: host.py has the same list. */
#define ONE(name) out[row++ * n + i] = name(x)
#define TWO(name) out[row++ * n + i] = name(x, y)

__kernel void floats(__global const float *a, __global const float *b, __global float *out, int n)
{
    const int i = get_global_id(0);
    const float x = a[i], y = b[i];
    int row = 0, exponent;
    float part;
    ONE(sqrt); ONE(rsqrt); ONE(fabs); ONE(floor); ONE(ceil); ONE(trunc); ONE(round); ONE(rint);
    ONE(exp); ONE(exp2); ONE(exp10); ONE(expm1); ONE(log); ONE(log2); ONE(log10); ONE(log1p);
    ONE(sin); ONE(cos); ONE(tan); ONE(asin); ONE(acos); ONE(atan); ONE(sinh); ONE(cosh); ONE(tanh);
    ONE(cbrt); ONE(degrees); ONE(radians); ONE(sign); ONE(native_sin); ONE(half_exp); ONE(native_recip);
    TWO(fmin); TWO(fmax); TWO(pow); TWO(fmod); TWO(hypot); TWO(atan2); TWO(fdim); TWO(copysign); TWO(step);
    TWO(nextafter); TWO(native_divide); TWO(maxmag); TWO(powr);
    out[row++ * n + i] = pown(x, 3);
    out[row++ * n + i] = ldexp(x, 5);
    out[row++ * n + i] = clamp(x, -0.5f, 0.5f);
    out[row++ * n + i] = mix(x, y, 0.25f);
    out[row++ * n + i] = smoothstep(-1.0f, 1.0f, x);
    out[row++ * n + i] = frexp(x, &exponent);
    out[row++ * n + i] = exponent;
    out[row++ * n + i] = modf(x * 3, &part);
    out[row++ * n + i] = part;
    out[row++ * n + i] = fract(x, &part);
    out[row++ * n + i] = sincos(x, &part);
    out[row++ * n + i] = part;
    out[row++ * n + i] = ilogb(x) + logb(x);
    out[row++ * n + i] = isnan(x) + 2 * isfinite(y) + 4 * isinf(x / 0.0f) + 8 * signbit(x) + 16 * isless(x, y) + 32 * isnormal(x);
    out[row++ * n + i] = fma(x, y, 1.0f) + mad(x, y, 2.0f);
}
