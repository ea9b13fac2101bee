/* Products in a tile, summed over its rows; pow() of whole numbers as in old sources. */
__kernel void layer_forward(__global const float *input, __global const float *weights, __global float *sums,
                            __local float *own, __local float *tile, int outputs)
{
    const int by = get_group_id(1), tx = get_local_id(0), ty = get_local_id(1);
    if (tx == 0)
        own[ty] = input[HEIGHT * by + ty];
    barrier(CLK_LOCAL_MEM_FENCE);
    tile[ty * WIDTH + tx] = weights[(HEIGHT * by + ty) * outputs + tx];
    barrier(CLK_LOCAL_MEM_FENCE);
    tile[ty * WIDTH + tx] *= own[ty];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 1; i <= HEIGHT; i = i * 2) {
        const int power = i;
        if (ty % power == 0 && ty + power / 2 < HEIGHT && power > 1)
            tile[ty * WIDTH + tx] += tile[(ty + power / 2) * WIDTH + tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (tx == 0)
        for (int x = 0; x < WIDTH; x++)
            if (ty == x % HEIGHT)
                sums[by * outputs + x] = tile[x];
}
