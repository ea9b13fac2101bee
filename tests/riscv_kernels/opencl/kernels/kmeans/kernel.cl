__kernel void assign(__global const float *points, __global const float *centres, __global int *nearest, int count,
                     int clusters, int features)
{
    int point = get_global_id(0);
    if (point < count) {
        float best = FLT_MAX;
        int index = 0;
        for (int c = 0; c < clusters; c++) {
            float sum = 0.0f;
            for (int f = 0; f < features; f++) {
                float difference = points[f * count + point] - centres[c * features + f];
                sum += difference * difference;
            }
            if (sum < best) {
                best = sum;
                index = c;
            }
        }
        nearest[point] = index;
    }
}
