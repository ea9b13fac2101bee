/* The first half of the group takes the strip to the right, the second half the one below. */
__kernel void factor(__global float *m, __local float *block, __local float *strips, int n)
{
    const int tx = get_local_id(0);
    __local float *right = strips, *below = strips + SIDE * SIDE;
    int i, j, index;

    if (tx < SIDE) {
        index = tx;
        for (i = 0; i < SIDE; i++)
            block[i * SIDE + index] = m[i * n + index];
        for (i = 0; i < SIDE; i++)
            right[i * SIDE + index] = m[i * n + SIDE + index];
    } else {
        index = tx - SIDE;
        for (i = 0; i < SIDE; i++)
            below[i * SIDE + index] = m[(SIDE + i) * n + index];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (i = 0; i < SIDE - 1; i++) {
        if (tx > i && tx < SIDE) {
            for (j = 0; j < i; j++)
                block[tx * SIDE + i] -= block[tx * SIDE + j] * block[j * SIDE + i];
            block[tx * SIDE + i] /= block[i * SIDE + i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (tx > i && tx < SIDE)
            for (j = 0; j < i + 1; j++)
                block[(i + 1) * SIDE + tx] -= block[(i + 1) * SIDE + j] * block[j * SIDE + tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (tx < SIDE) {
        for (i = 1; i < SIDE; i++)
            for (j = 0; j < i; j++)
                right[i * SIDE + tx] -= block[i * SIDE + j] * right[j * SIDE + tx];
    } else {
        for (i = 0; i < SIDE; i++) {
            for (j = 0; j < i; j++)
                below[index * SIDE + i] -= below[index * SIDE + j] * block[j * SIDE + i];
            below[index * SIDE + i] /= block[i * SIDE + i];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (i = tx; i < SIDE * SIDE; i += get_local_size(0)) {
        m[i / SIDE * n + i % SIDE] = block[i];
        m[i / SIDE * n + SIDE + i % SIDE] = right[i];
        m[(SIDE + i / SIDE) * n + i % SIDE] = below[i];
    }
}
