typedef struct latitude_longitude {
    float lat;
    float lng;
} place_t;

__kernel void nearest(__global const place_t *places, __global float *distances, const int count, place_t origin)
{
    const int i = get_global_id(0);
    if (i < count) {
        __global const place_t *own = &places[i];
        distances[i] = sqrt((origin.lat - own->lat) * (origin.lat - own->lat)
                            + (origin.lng - own->lng) * (origin.lng - own->lng));
    }
}
