/* One work-item an element of c; the group's tiles of a and b pass through local memory. */
__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int n)
{
    __local float left[TILE][TILE], right[TILE][TILE];
    const int column = get_global_id(0), row = get_global_id(1);
    const int x = get_local_id(0), y = get_local_id(1);
    float sum = 0.0f;

    for (int tile = 0; tile < n; tile += TILE) {
        left[y][x] = row < n && tile + x < n ? a[row * n + tile + x] : 0.0f;
        right[y][x] = column < n && tile + y < n ? b[(tile + y) * n + column] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            sum = fma(left[y][k], right[k][x], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < n && column < n)
        c[row * n + column] = sum;
}
