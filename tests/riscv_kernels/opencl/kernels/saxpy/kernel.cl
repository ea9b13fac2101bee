__kernel void saxpy(const float a, __global const float *restrict x, __global float *restrict y, const unsigned int n)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    y[i] = a * x[i] + y[i];
}
