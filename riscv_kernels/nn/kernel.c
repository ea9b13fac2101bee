/* The distance of each of n places from a given one: a thread a place. The host finds the nearest.
 * The algorithm is that of Rodinia's nn; the code is ours. */
#include "metronome.h"

typedef struct {
    float latitude, longitude;
} place;

typedef struct {
    uint32_t n;
    place from;
    const place *places;
    float *distances;
} arguments;

static void measure(const void *block)
{
    const arguments *const args = block;
    const uint32_t i = blockIdx.x;
    const float north = args->places[i].latitude - args->from.latitude;
    const float east = args->places[i].longitude - args->from.longitude;
    args->distances[i] = __builtin_sqrtf(north * north + east * east);
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    region_begin();
    const int status = spawn_threads(1, &args->n, 0, measure, args);
    region_end();
    return status;
}
