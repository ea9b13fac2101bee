__kernel void matvec(__global const float *a, __global const float *x, uint columns, __global float *y,
                     __local float *sums)
{
    const uint lane = get_local_id(0);
    for (uint row = get_group_id(0); row < ROWS; row += get_num_groups(0)) {
        const __global float *values = a + row * columns;
        float sum = 0;
        for (uint i = lane; i < columns; i += get_local_size(0))
            sum = mad(values[i], x[i], sum);
        sums[lane] = sum;
        for (uint stride = 1; stride < get_local_size(0); stride *= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint index = 2 * stride * lane;
            if (index < get_local_size(0))
                sums[index] += sums[index + stride];
        }
        if (lane == 0)
            y[row] = sums[0];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
