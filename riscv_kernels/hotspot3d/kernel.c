/* Heat in a chip of layers of n x n cells, by steps, in one group of all threads: a cell's next temperature is a weighted
 * sum of its own, its six neighbours', its power and the air's. At the border the cell itself replaces a neighbour
 * beyond. A thread goes through all layers at its place, and keeps the cells below and above in registers. A step reads
 * one buffer and writes the other; the barrier keeps the steps apart.
 * The algorithm is that of Rodinia's hotspot3D; the code is ours. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    uint32_t layers;
    uint32_t steps;
    float same, along_x, along_y, along_z; /* weights of the cell itself and of each neighbour */
    float heating;                         /* weight of the power */
    float air;                             /* weight of the air, multiplied by its temperature */
    const float *power;
    float *temperature;                    /* at the beginning, and after each even number of steps */
    float *other;
} arguments;

static void simulate(const void *block)
{
    __syncthreads(); /* the launch is over for all: it is not measured */
    region_begin();
    const arguments *const args = block;
    const uint32_t n = args->n;
    const uint32_t layer = n * n;
    float *from = args->temperature;
    float *to = args->other;
    for (uint32_t step = 0; step < args->steps; step++) {
        for (uint32_t place = threadIdx.x; place < layer; place += blockDim.x) {
            const uint32_t row = place / n;
            const uint32_t column = place % n;
            uint32_t north = row > 0 ? place - n : place;
            uint32_t south = row < n - 1 ? place + n : place;
            uint32_t west = column > 0 ? place - 1 : place;
            uint32_t east = column < n - 1 ? place + 1 : place;
            uint32_t cell = place;
            float here = from[cell];
            float below = here;
            for (uint32_t z = 0; z < args->layers; z++) {
                const float above = from[z < args->layers - 1 ? cell + layer : cell];
                to[cell] = args->same * here + args->along_x * from[west] + args->along_x * from[east] +
                           args->along_y * from[south] + args->along_y * from[north] + args->along_z * below +
                           args->along_z * above + args->heating * args->power[cell] + args->air;
                below = here;
                here = above;
                cell += layer;
                north += layer;
                south += layer;
                west += layer;
                east += layer;
            }
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
