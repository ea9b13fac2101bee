/* A step that takes speckles out of an n x n image, in one group of all threads: first a coefficient for each pixel, from
 * how much its neighbours differ; then each pixel moves towards them, by its own coefficient and those to the south and
 * east. At the border the pixel itself replaces a missing neighbour. The barrier keeps the two halves apart.
 * The algorithm is that of Rodinia's srad; the code is ours. */
#include "metronome.h"

typedef struct {
    uint32_t n;
    float speckle;  /* the square of the speckles' standard deviation over their mean */
    float rate;
    const float *image;
    float *coefficients;
    float *result;
} arguments;

static float difference(const float *image, uint32_t from, uint32_t to) { return image[to] - image[from]; }

static void step(const void *block)
{
    __syncthreads(); /* the launch is over for all: it is not measured */
    region_begin();
    const arguments *const args = block;
    const uint32_t n = args->n;
    const float *const image = args->image;
    for (uint32_t i = threadIdx.x; i < n * n; i += blockDim.x) {
        const uint32_t row = i / n;
        const uint32_t column = i % n;
        const float here = image[i];
        const float north = difference(image, i, row > 0 ? i - n : i);
        const float south = difference(image, i, row < n - 1 ? i + n : i);
        const float west = difference(image, i, column > 0 ? i - 1 : i);
        const float east = difference(image, i, column < n - 1 ? i + 1 : i);
        const float gradient = (north * north + south * south + west * west + east * east) / (here * here);
        const float laplace = (north + south + west + east) / here;
        const float root = 1.0f + 0.25f * laplace;
        const float variation = (0.5f * gradient - laplace * laplace / 16.0f) / (root * root);
        const float excess = (variation - args->speckle) / (args->speckle * (1.0f + args->speckle));
        const float coefficient = 1.0f / (1.0f + excess);
        args->coefficients[i] = __builtin_fminf(__builtin_fmaxf(coefficient, 0.0f), 1.0f);
    }
    __syncthreads();
    const float *const coefficients = args->coefficients;
    for (uint32_t i = threadIdx.x; i < n * n; i += blockDim.x) {
        const uint32_t row = i / n;
        const uint32_t column = i % n;
        const uint32_t down = row < n - 1 ? i + n : i;
        const uint32_t right = column < n - 1 ? i + 1 : i;
        const float mine = coefficients[i];
        const float flow = mine * difference(image, i, row > 0 ? i - n : i) +
                           coefficients[down] * difference(image, i, down) +
                           mine * difference(image, i, column > 0 ? i - 1 : i) +
                           coefficients[right] * difference(image, i, right);
        args->result[i] = image[i] + 0.25f * args->rate * flow;
    }
}

int main(void)
{
    const uint32_t groups = 1;
    const uint32_t threads = simt_num_warps() * simt_num_threads();
    const int status = spawn_threads(1, &groups, &threads, step, kernel_arguments());
    region_end();
    return status;
}
