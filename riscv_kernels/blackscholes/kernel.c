/* Prices of European options, call and put, after Black and Scholes, in one group of all threads.
 * The algorithm is that of NVIDIA's SDK example BlackScholes; the code is ours. */
#include <math.h>
#include "metronome.h"

typedef struct {
    uint32_t n;
    float rate;
    float volatility;
    const float *price;
    const float *strike;
    const float *years;
    float *call;
    float *put;
} arguments;

/* The normal distribution up to d: polynomial 26.2.17 of Abramowitz and Stegun. */
static float normal(float d)
{
    const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    const float polynomial =
        k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    const float tail = 0.39894228f * expf(-0.5f * d * d) * polynomial;
    return d > 0 ? 1.0f - tail : tail;
}

static void price_options(const void *block)
{
    __syncthreads(); /* the launch is over for all: it is not measured */
    region_begin();
    const arguments *const args = block;
    const float rate = args->rate;
    const float volatility = args->volatility;
    for (uint32_t i = threadIdx.x; i < args->n; i += blockDim.x) {
        const float price = args->price[i];
        const float strike = args->strike[i];
        const float years = args->years[i];
        const float spread = volatility * sqrtf(years);
        const float d1 = (logf(price / strike) + (rate + 0.5f * volatility * volatility) * years) / spread;
        const float d2 = d1 - spread;
        const float below1 = normal(d1);
        const float below2 = normal(d2);
        const float discounted = strike * expf(-rate * years);
        args->call[i] = price * below1 - discounted * below2;
        args->put[i] = discounted * (1.0f - below2) - price * (1.0f - below1);
    }
}

int main(void)
{
    const uint32_t groups = 1;
    const uint32_t threads = simt_num_warps() * simt_num_threads();
    const int status = spawn_threads(1, &groups, &threads, price_options, kernel_arguments());
    region_end();
    return status;
}
