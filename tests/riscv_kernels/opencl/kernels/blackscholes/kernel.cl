#define RATE 0.02f
#define VOLATILITY 0.3f

float normal(float x)
{
    return 0.5f * (1.0f + erf(x * M_SQRT1_2_F));
}

__kernel void black_scholes(__global float *call_price, __global float *put_price, __global const float *price,
                            __global const float *strike, __global const float *years)
{
    const size_t i = get_global_id(0);
    const float spread = VOLATILITY * native_sqrt(years[i]);
    const float d1 = (native_log(price[i] / strike[i]) + (RATE + 0.5f * VOLATILITY * VOLATILITY) * years[i]) / spread;
    const float d2 = d1 - spread;
    const float worth = strike[i] * exp(-RATE * years[i]);
    call_price[i] = price[i] * normal(d1) - worth * normal(d2);
    put_price[i] = worth * normal(-d2) - price[i] * normal(-d1);
}
