int inside(int place, int size) { return clamp(place, 0, size - 1); }

/* The border is repeated outwards. */
__kernel void convolve(__global const float *image, __constant float *filter, __global float *result, int size)
{
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            sum += filter[(dy + 1) * 3 + dx + 1] * image[inside(y + dy, size) * size + inside(x + dx, size)];
    result[y * size + x] = sum;
}
