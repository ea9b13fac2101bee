/* math.h's own functions on the host, and how far they are from the host's double precision. Ours go by the
 * names with __metronome_ (library/names.h); the tables are in the order of host.py's FUNCTIONS. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define ONE_ARGUMENT(F) F(exp) F(exp2) F(log) F(log2) F(log10) F(sin) F(cos) F(tan) F(tanh) F(erf) \
                        F(floor) F(ceil) F(trunc) F(round) F(rint)
#define DECLARE(name) float __metronome_##name##f(float);
ONE_ARGUMENT(DECLARE)
float __metronome_powf(float, float);

#define OURS(name) __metronome_##name##f,
#define THEIRS(name) name,
static float (*const ours[])(float) = {ONE_ARGUMENT(OURS)};
static double (*const theirs[])(double) = {ONE_ARGUMENT(THEIRS)};

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

/* |y - exact| in units of the last place of the float below |exact|; 1e9 where a NaN, infinity or sign is wrong. */
static double error(float y, double exact)
{
    if (isnan(exact) || isnan(y))
        return isnan(exact) && isnan(y) ? 0.0 : 1e9;
    if (!signbit(y) != !signbit(exact))
        return 1e9;
    const double overflow = 0x1.ffffffp127;
    if (fabs(exact) >= overflow || isinf(y))
        return fabs(exact) >= overflow * (1 - 0x1p-24) && isinf(y) ? 0.0 : 1e9;
    if (exact == 0.0)
        return y == 0.0f ? 0.0 : 1e9;
    const int exponent = ilogb(exact);
    return fabs(scalbn(y - exact, 23 - (exponent < -126 ? -126 : exponent)));
}

/* The worst error of a function over `count` floats, `step` apart in their bits. Stores where it is. */
double worst(int function, uint32_t first, uint64_t count, uint32_t step, uint32_t *place)
{
    double most = -1.0;
    uint32_t bits = first;
    for (uint64_t i = 0; i < count; i++, bits += step) {
        const float x = float_of(bits);
        const double e = error(ours[function](x), theirs[function](x));
        if (!(e <= most)) {
            most = e;
            *place = bits;
        }
    }
    return most;
}

double worst_pow(const uint32_t *x, const uint32_t *y, uint64_t count, uint64_t *place)
{
    double most = -1.0;
    for (uint64_t i = 0; i < count; i++) {
        const double e = error(__metronome_powf(float_of(x[i]), float_of(y[i])), pow(float_of(x[i]), float_of(y[i])));
        if (!(e <= most)) {
            most = e;
            *place = i;
        }
    }
    return most;
}

void evaluate(int function, const float *x, float *y, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        y[i] = ours[function](x[i]);
}

void evaluate_pow(const float *x, const float *y, float *z, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        z[i] = __metronome_powf(x[i], y[i]);
}
