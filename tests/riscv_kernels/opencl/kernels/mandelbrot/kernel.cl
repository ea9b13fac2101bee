__kernel void mandelbrot(__global int *steps, float2 corner, float2 extent, int limit)
{
    const int2 place = (int2)(get_global_id(0), get_global_id(1));
    const float2 c = corner + extent * convert_float2(place) / (float2)(get_global_size(0), get_global_size(1));
    float2 z = (float2)(0.0f, 0.0f);
    int step = 0;
    while (step < limit) {
        const float2 square = z * z;
        if (square.x + square.y > 4.0f)
            break;
        z = (float2)(square.x - square.y, 2.0f * z.x * z.y) + c;
        step++;
    }
    steps[place.y * get_global_size(0) + place.x] = step;
}
