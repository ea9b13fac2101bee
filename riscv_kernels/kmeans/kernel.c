/* The assignment step of k-means in one group of all threads: the nearest of the centres for each point, by squared
 * distance, the first of equally near ones. All threads of a warp look at the same centre at a time. A feature of all
 * points lies together, so that loads coalesce; a centre's features lie together.
 * The algorithm is that of Rodinia's kmeans; the code is ours. */
#include <math.h>
#include "metronome.h"

typedef struct {
    uint32_t points;
    uint32_t features;
    uint32_t clusters;
    const float *values;  /* features x points */
    const float *centres; /* clusters x features */
    uint32_t *nearest;
} arguments;

static void assign(const void *block)
{
    __syncthreads(); /* the launch is over for all: it is not measured */
    region_begin();
    const arguments *const args = block;
    const uint32_t points = args->points;
    for (uint32_t point = threadIdx.x; point < points; point += blockDim.x) {
        float least = INFINITY;
        uint32_t nearest = 0;
        for (uint32_t cluster = 0; cluster < args->clusters; cluster++) {
            float distance = 0;
            for (uint32_t feature = 0; feature < args->features; feature++) {
                const float apart =
                    args->values[feature * points + point] - args->centres[cluster * args->features + feature];
                distance += apart * apart;
            }
            if (distance < least) {
                least = distance;
                nearest = cluster;
            }
        }
        args->nearest[point] = nearest;
    }
}

int main(void)
{
    const uint32_t groups = 1;
    const uint32_t threads = simt_num_warps() * simt_num_threads();
    const int status = spawn_threads(1, &groups, &threads, assign, kernel_arguments());
    region_end();
    return status;
}
