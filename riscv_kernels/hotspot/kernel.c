/* Heat on a chip of n x n cells, by steps, in one group of all threads: a cell's next temperature comes from its own,
 * its four neighbours', its power and the ambient temperature. At the border the cell itself replaces a missing neighbour.
 * A step reads one buffer and writes the other; the barrier keeps the steps apart.
 * The algorithm is that of Rodinia's hotspot; the code is ours. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    uint32_t steps;
    float rate;                /* duration of a step / heat capacity of a cell */
    float along_x, along_y;    /* 1 / thermal resistance, to the neighbours .. */
    float outside;             /* .. and to the air */
    float ambient;
    const float *power;
    float *temperature;        /* at the beginning, and after each even number of steps */
    float *other;
} arguments;

static void simulate(const void *block)
{
    __syncthreads(); /* the launch is over for all: it is not measured */
    region_begin();
    const arguments *const args = block;
    const uint32_t n = args->n;
    float *from = args->temperature;
    float *to = args->other;
    for (uint32_t step = 0; step < args->steps; step++) {
        for (uint32_t cell = threadIdx.x; cell < n * n; cell += blockDim.x) {
            const uint32_t row = cell / n;
            const uint32_t column = cell % n;
            const float here = from[cell];
            const float north = from[row > 0 ? cell - n : cell];
            const float south = from[row < n - 1 ? cell + n : cell];
            const float west = from[column > 0 ? cell - 1 : cell];
            const float east = from[column < n - 1 ? cell + 1 : cell];
            to[cell] = here + args->rate * (args->power[cell] + (south + north - 2.0f * here) * args->along_y +
                                            (east + west - 2.0f * here) * args->along_x +
                                            (args->ambient - here) * args->outside);
        }
        __syncthreads();
        float *const next = from;
        from = to;
        to = next;
    }
}

int main(void)
{
    const uint32_t groups = 1;
    const uint32_t threads = simt_num_warps() * simt_num_threads();
    const int status = spawn_threads(1, &groups, &threads, simulate, kernel_arguments());
    region_end();
    return status;
}
