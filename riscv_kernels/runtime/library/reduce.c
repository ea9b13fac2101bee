/* block_sum, block_sum_float (metronome.h): a tree of pairs, a barrier a level. */
#include "metronome.h"

#include "names.h"

#define BLOCK_SUM(name, type)                                                                              \
    WEAK type name(type value, type *cells)                                                                \
    {                                                                                                      \
        const uint32_t size = __spawn_context.__block_size;                                                \
        const uint32_t row = metronome_thread_y + __spawn_context.__block_dim.y * metronome_thread_z;      \
        const uint32_t thread = metronome_thread_x + __spawn_context.__block_dim.x * row;                  \
        cells[thread] = value;                                                                             \
        __syncthreads();                                                                                   \
        for (uint32_t distance = 1; distance < size; distance <<= 1) {                                     \
            SIMT_IF(((thread & (2 * distance - 1)) == 0) & (thread + distance < size)) {                   \
                cells[thread] += cells[thread + distance];                                                 \
            } SIMT_ENDIF                                                                                   \
            __syncthreads();                                                                               \
        }                                                                                                  \
        const type sum = cells[0];                                                                         \
        __syncthreads(); /* the cells may be written again */                                              \
        return sum;                                                                                        \
    }

BLOCK_SUM(block_sum, uint32_t)
BLOCK_SUM(block_sum_float, float)
