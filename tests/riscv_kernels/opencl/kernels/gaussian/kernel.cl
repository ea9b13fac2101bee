__kernel void multipliers(__global const float *a, __global float *m, int size, int t)
{
    const int i = get_global_id(0);
    if (i < size - 1 - t)
        m[size * (i + t + 1) + t] = a[size * (i + t + 1) + t] / a[size * t + t];
}

__kernel void eliminate(__global const float *m, __global float *a, __global float *b, int size, int t)
{
    const int row = get_global_id(0), column = get_global_id(1);
    if (row < size - 1 - t && column < size - t) {
        a[size * (row + 1 + t) + column + t] -= m[size * (row + 1 + t) + t] * a[size * t + column + t];
        if (column == 0)
            b[row + 1 + t] -= m[size * (row + 1 + t) + t] * b[t];
    }
}
