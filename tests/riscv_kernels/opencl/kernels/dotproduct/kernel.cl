__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void dot_product(__global const float4 *a, __global const float4 *b, __global float *parts)
{
    __local float sums[4];
    const size_t lane = get_local_id(0);
    sums[lane] = dot(a[get_global_id(0)], b[get_global_id(0)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0)
        parts[get_group_id(0)] = sums[0] + sums[1] + sums[2] + sums[3];
}
