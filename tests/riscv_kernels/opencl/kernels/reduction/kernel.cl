__kernel void reduction(__global const int *values, __global int *sums, __local int *cells, const uint count)
{
    const uint lane = get_local_id(0);
    int sum = 0;
    for (uint i = get_global_id(0); i < count; i += get_global_size(0))
        sum += values[i];
    cells[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size >>= 1) {
        if (lane < half_size)
            cells[lane] += cells[lane + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0)
        sums[get_group_id(0)] = cells[0];
}
