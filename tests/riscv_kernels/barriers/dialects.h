/* The words in which shapes.c and parting.c are written, in OpenCL C, in C of this project, and in C of the host. */
#define INPUTS GLOBAL const int *in, LOCAL int *t, int n, int l, int size, int g, int groups
#define GIVEN in, t, n, l, size, g, groups
#define SET(k) t[l + 8 * k] = in[(l + 5 * g + 8 * k) & 63];
#define FILL SET(0) SET(1) SET(2) SET(3) SET(4) SET(5) SET(6) SET(7) BARRIER;

#ifdef __OPENCL_VERSION__
#define GLOBAL __global
#define LOCAL __local
#define TABLE __constant
#define INT64 long
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define SHAPE(name)                                                                                  \
    static inline int name##_shape(INPUTS);                                                          \
    __kernel void name(__global const int *in, __global int *out, __local int *t, int n)             \
    {                                                                                                \
        const int l = get_local_id(0), size = get_local_size(0), g = get_group_id(0), groups = get_num_groups(0); \
        FILL                                                                                         \
        out[get_global_id(0)] = name##_shape(GIVEN);                                                 \
    }                                                                                                \
    static inline __attribute__((always_inline)) int name##_shape(INPUTS)
#else
#define GLOBAL
#define LOCAL
#define TABLE static
#define INT64 long long
#ifdef HOST
#include <pthread.h>
typedef struct { const int *in; int *out, n, size, groups; } arguments;
typedef void (*thread_function)(const void *block);
static _Thread_local struct { int l, g, *t; pthread_barrier_t *barrier; } self;
#define BARRIER pthread_barrier_wait(self.barrier)
#define PLACE const int l = self.l, g = self.g, size = a->size, groups = a->groups; int *const t = self.t
#else
#include "metronome.h"
typedef struct { const int *in; int *out, n; } arguments;
#define BARRIER __syncthreads()
#define PLACE                                                                                        \
    const int l = threadIdx.x, size = blockDim.x, g = blockIdx.x, groups = gridDim.x;                \
    int *const t = local_memory(256)
#endif
#define SHAPE(name)                                                                                  \
    static inline int name##_shape(INPUTS);                                                          \
    static void name(const void *block)                                                              \
    {                                                                                                \
        const arguments *const a = block;                                                            \
        const int *const in = a->in, n = a->n;                                                       \
        PLACE;                                                                                       \
        FILL                                                                                         \
        a->out[g * size + l] = name##_shape(GIVEN);                                                  \
    }                                                                                                \
    static inline __attribute__((always_inline)) int name##_shape(INPUTS)
#endif

#define PRAGMA_UNROLL _Pragma("unroll")
#define PRAGMA_UNROLL_2 _Pragma("unroll 2")

TABLE const int turns[4] = {2, 5, 3, 7};

static inline int meet(LOCAL int *t, int i) { BARRIER; return t[i]; }
static __attribute__((noinline)) int meet_apart(LOCAL int *t, int i) { BARRIER; return t[i] * 3; }
static __attribute__((noinline)) int added(LOCAL int *t, int i, int count)
{
    int s = 0;
    for (int j = 0; j < count; j++) { BARRIER; s += t[i + j]; }
    return s;
}
static __attribute__((noinline)) int doubled(int x) { return x > 3 ? 2 * x - 1 : x & 3; }
static __attribute__((noinline)) int halved(int x) { return x > 30 ? x / 2 : x + 1; }
