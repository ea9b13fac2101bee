/* string.h, 64-bit division, SIMT_ONE_BY_ONE and block_sum: every thread with arguments of its own, into its cell. */
#include <string.h>

#include "metronome.h"

#define AREA 64

typedef struct {
    uint32_t *results; /* 16 words a thread */
    uint32_t count, block;
    const uint32_t *words;  /* 4 a thread: two 64-bit numbers */
    char *areas;            /* AREA bytes a thread, once for each of: memcpy, memset, memmove, text, copied text */
    const uint32_t *places; /* 3 a thread: target, source, bytes */
} arguments;

static void work(const void *block)
{
    const arguments *const args = block;
    const uint32_t i = blockIdx.x;
    uint32_t *const cell = args->results + 16 * i;
    const uint32_t *const words = args->words + 4 * i;
    const uint32_t *const place = args->places + 3 * i;
    const uint64_t a = (uint64_t)words[1] << 32 | words[0];
    const uint64_t b = (uint64_t)words[3] << 32 | words[2];
    uint64_t *const quotients = (uint64_t *)cell;
    quotients[0] = a / b;
    quotients[1] = a % b;
    quotients[2] = (uint64_t)((int64_t)a / (int64_t)b);
    quotients[3] = (uint64_t)((int64_t)a % (int64_t)b);

    const uint32_t stride = args->count * AREA;
    char *const area = args->areas + i * AREA;
    uint32_t wrong = memcpy(area + place[0], area + place[1] + AREA / 2, place[2]) != area + place[0];
    wrong |= memset(area + stride + place[0], (int)i, place[2]) != area + stride + place[0];
    wrong |= memmove(area + 2 * stride + place[0], area + 2 * stride + place[1], place[2]) != area + 2 * stride + place[0];
    cell[8] = wrong;
    cell[9] = (uint32_t)memcmp(area + stride, area + 2 * stride, place[2]);
    const char *const text = area + 3 * stride;
    cell[10] = strlen(text);
    char *const copied = area + 4 * stride;
    cell[11] = (uint32_t)strcmp(text, copied);
    cell[12] = strcpy(copied, text) != copied;
    cell[13] = (uint32_t)strcmp(text, copied);
    const uint64_t widened = __builtin_bit_cast(uint64_t, (double)__builtin_bit_cast(float, words[0]));
    cell[14] = (uint32_t)widened;
    cell[15] = (uint32_t)(widened >> 32);
}

typedef struct {
    uint32_t *cell; /* for each warp: the sum of its lanes' numbers */
    uint32_t *before;
    uint32_t *sums;
    uint32_t blocks;
} sum_arguments;

static void add(const void *block)
{
    const sum_arguments *const args = block;
    const uint32_t number = blockIdx.x * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
    SIMT_ONE_BY_ONE {
        uint32_t *const total = args->cell + simt_warp_id();
        args->before[number] = *total;
        *total += number + 1;
    } SIMT_ENDONE
    uint32_t *const cells = local_memory(4 * blockDim.x * blockDim.y);
    args->sums[2 * number] = block_sum(number, cells);
    args->sums[2 * number + 1] = __builtin_bit_cast(uint32_t, block_sum_float((float)number + 0.25f, (float *)cells));
}

int main(void)
{
    const arguments *const args = kernel_arguments();
    spawn_threads(1, &args->count, 0, work, args);
    static sum_arguments sums;
    sums.cell = args->results + 16 * args->count;
    sums.before = sums.cell + simt_num_warps();
    sums.blocks = 3;
    sums.sums = sums.before + 3 * args->block;
    const uint32_t shape[2] = {args->block, 1};
    return spawn_threads(2, (const uint32_t[2]){sums.blocks, 1}, shape, add, &sums);
}
