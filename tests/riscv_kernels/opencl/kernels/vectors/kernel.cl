/* Vectors: their memory, parts, functions and relations. */
__kernel void vectors(__global const float *a, __global float *out)
{
    const size_t i = get_global_id(0);
    const float4 x = vload4(i, a), y = x.wzyx + (float4)(1.0f, 2.0f, 3.0f, 4.0f);
    const float3 left = x.xyz, right = vload3(0, a + 4 * i + 1);
    float16 row;
    row.s0123 = fmax(x, y) + fmin(x, 0.25f) + clamp(x, 0.0f, 1.0f);
    row.s456 = cross(left, right);
    row.s7 = dot(x, y) + length(left) + distance(left, right);
    row.s89ab = select(x, y, isgreater(x, y)) + convert_float4(convert_int4_rte(10.0f * x)) + sqrt(fabs(x));
    row.lo.hi *= 2.0f;
    row.hi.hi = mix(x, y, (float4)(0.5f)) + normalize(x) + floor(x) + step(0.0f, x) + exp(x) + pow(fabs(x), (float4)(2.0f));
    vstore16(row, i, out);
    const int4 order = (x < y) & (int4)(1, 2, 4, 8);
    out[16 * i] += any(x > 2.0f) + all(x < 3.0f) + order.x + order.y + order.z + order.w;
    __private float own[4];
    vstore4(y, 0, own);
    out[16 * i + 1] += own[i % 4] + as_float(as_uint2(x.lo).y);
}
