/* Metronome's kernel interface: SIMT instructions, thread mapping, divergence, barriers, local memory, console.
 *
 * Branches on which the lanes of a warp disagree need nothing: `metronome run` and `build` add the code that splits lanes and
 * joins them again (docs/divergence.md). All threads of a block must reach a barrier together.
 *
 * The macros below do the same by hand. A function that has them is left as it is: in it, every branch on which lanes
 * disagree must be inside them. The same holds with --no-simt, where such a branch is a fault:
 *
 *     SIMT_IF(x < y) { ... } SIMT_ELSE { ... } SIMT_ENDIF        (the else part may be left out)
 *     SIMT_WHILE(x != 1) { ... } SIMT_ENDWHILE
 *
 * - No return, goto, break or continue out of such a region: the compiler refuses it. A lane leaves a loop through the
 *   loop's condition. A loop inside the region that all its lanes leave together may have them.
 * - && and || between data of a lane may become branches themselves: write & and | of comparisons.
 * - c ? a : b of integers without side effects becomes a select and needs no macro; of floats it becomes a branch:
 *   use simt_select_float(). (Without optimization, at -O0, both are branches.)
 *
 * Every lane executes exactly the instructions of its own path in their C order, so whatever a compiler may do to
 * sequential code stays right as long as it invents no branch of its own: -fconvergent-functions keeps it from copying
 * or threading branches past the SIMT instructions, and the empty asm at the head of each arm from turning the
 * arm into selects, which for floats become branches again, and those might come after the join.
 *
 * A program may use all names but these: those declared here without __, and those that begin with metronome_, simt_,
 * METRONOME_, SIMT_, CSR_, CONTEXT_, MEMORY_ or POLICY_. Its macros may have any other name, before the header, too.
 */
#ifndef METRONOME_H
#define METRONOME_H

#include <stdint.h>

#include "context.h"
#include "memory_map.h"

#define SIMT_INLINE static __inline__ __attribute__((__always_inline__))

/* ---- SIMT instructions (isa.md) ---- */

SIMT_INLINE void simt_tmc(uint32_t __mask)
{
    __asm__ volatile(".insn r 0x0B, 0, 0, x0, %0, x0" ::"r"(__mask) : "memory");
}

SIMT_INLINE void simt_wspawn(uint32_t __count, void (*__entry)(void))
{
    __asm__ volatile(".insn r 0x0B, 1, 0, x0, %0, %1" ::"r"(__count), "r"(__entry) : "memory");
}

/* The predicate comes back through the asm, so that the compiler knows nothing of it and cannot branch on it elsewhere. */
SIMT_INLINE uint32_t simt_split(uint32_t *__predicate)
{
    uint32_t __pointer;
    uint32_t __value = *__predicate;
    __asm__ volatile(".insn r 0x0B, 2, 0, %0, %1, x0" : "=&r"(__pointer), "+r"(__value)::"memory");
    *__predicate = __value;
    return __pointer;
}

/* The same, with x2 for x0, which is the same to the machine (bit 0 counts): by that sim/program/divergence knows SIMT_ONE_BY_ONE. */
SIMT_INLINE uint32_t simt_split_one(uint32_t *__predicate)
{
    uint32_t __pointer;
    uint32_t __value = *__predicate;
    __asm__ volatile(".insn r 0x0B, 2, 0, %0, %1, x2" : "=&r"(__pointer), "+r"(__value)::"memory");
    *__predicate = __value;
    return __pointer;
}

SIMT_INLINE void simt_join(uint32_t __pointer)
{
    __asm__ volatile(".insn r 0x0B, 3, 0, x0, %0, x0" ::"r"(__pointer) : "memory");
}

SIMT_INLINE void simt_bar(uint32_t __id, uint32_t __warps)
{
    __asm__ volatile(".insn r 0x0B, 4, 0, x0, %0, %1" ::"r"(__id), "r"(__warps) : "memory");
}

/* Order this warp's accesses for other SMs, and see what they have stored (docs/memory.md, "Several SMs"). A loop that
 * waits for another SM needs one in it. */
SIMT_INLINE void simt_fence(void) { __asm__ volatile("fence" ::: "memory"); }

SIMT_INLINE uint32_t simt_pred(uint32_t __predicate, uint32_t __restore_mask)
{
    __asm__ volatile(".insn r 0x0B, 5, 0, x0, %0, %1" : "+r"(__predicate) : "r"(__restore_mask) : "memory");
    return __predicate;
}

/* ---- Divergence ---- */

/* C2y's defer: the enclosed code runs at the end of the scope, which is here, and must not jump out of it. */
#ifdef __STDC_DEFER_TS25755__
#define SIMT_NO_JUMPS _Defer
#else
#define SIMT_NO_JUMPS
#endif

#define SIMT_IF(condition)                                   \
    {                                                        \
        uint32_t simt_predicate = (condition) ? 1u : 0u;     \
        const uint32_t simt_pointer = simt_split(&simt_predicate); \
        { SIMT_NO_JUMPS { if (simt_predicate) {              \
            __asm__ volatile("# simt then");
#define SIMT_ELSE                                            \
        } else {                                             \
            __asm__ volatile("# simt else");
#define SIMT_ENDIF                                           \
        } } }                                                \
        simt_join(simt_pointer);                             \
    }

#define SIMT_WHILE(condition)                                \
    {                                                        \
        const uint32_t simt_restore = simt_active_threads(); \
        while (simt_pred((condition) ? 1u : 0u, simt_restore)) { { SIMT_NO_JUMPS { \
            __asm__ volatile("# simt loop");
#define SIMT_ENDWHILE                                        \
        } } }                                                \
    }

/* Each active lane by itself, in ascending order: no other lane of the warp changes what it reads and writes meanwhile.
 *
 *     SIMT_ONE_BY_ONE { *total += own; } SIMT_ENDONE
 *
 * With one lane active, any branch is allowed. Other warps continue: data shared between warps needs a cell for each warp. */
#define SIMT_ONE_BY_ONE                                                            \
    for (uint32_t simt_turn = 0; simt_turn < simt_num_threads(); simt_turn++) {    \
        uint32_t simt_predicate = simt_thread_id() == simt_turn;                   \
        const uint32_t simt_pointer = simt_split_one(&simt_predicate);             \
        { SIMT_NO_JUMPS { if (simt_predicate) {                                    \
            __asm__ volatile("# simt one");
#define SIMT_ENDONE                                                                \
        } } }                                                                      \
        simt_join(simt_pointer);                                                   \
    }

/* ---- Flow facts ---- */

/* In the body of a loop: each time that the loop is entered, its body is executed at most n times. `n` is a constant.
 * It becomes no instruction, but a line in a section that is not loaded, for `metronome wcet` (wcet.md).
 *
 *     while (x != 1) { METRONOME_LOOP_BOUND(100); x = next(x); }
 *
 * It bounds the innermost loop around it in the machine code: not for a loop that is unrolled or that runs once. */
#define METRONOME_LOOP_BOUND(n)                                            \
    __asm__ volatile(".Lmetronome_loop_%=:\n"                              \
                     ".pushsection .metronome.loops, \"\", @progbits\n"    \
                     ".word .Lmetronome_loop_%=, %0, %1\n"                 \
                     ".popsection" ::"i"((uint32_t)(n)), "i"(__COUNTER__))

/* ---- CSRs ---- */

#define SIMT_CSR_READ(number)                                                   \
    __extension__({                                                             \
        uint32_t simt_csr;                                                      \
        __asm__ volatile("csrr %0, %1" : "=r"(simt_csr) : "i"(number));         \
        simt_csr;                                                               \
    })
/* For a value that never changes: the compiler may drop or merge the reads. */
#define SIMT_CSR_CONSTANT(number)                                               \
    __extension__({                                                             \
        uint32_t simt_csr;                                                      \
        __asm__("csrr %0, %1" : "=r"(simt_csr) : "i"(number));                  \
        simt_csr;                                                               \
    })
#define SIMT_CSR_WRITE(number, value) \
    __asm__ volatile("csrw %0, %1" ::"i"(number), "rK"((uint32_t)(value)) : "memory")

SIMT_INLINE uint32_t simt_thread_id(void) { return SIMT_CSR_CONSTANT(CSR_THREAD_ID); }
SIMT_INLINE uint32_t simt_warp_id(void) { return SIMT_CSR_CONSTANT(CSR_WARP_ID); }
SIMT_INLINE uint32_t simt_core_id(void) { return SIMT_CSR_CONSTANT(CSR_CORE_ID); }
SIMT_INLINE uint32_t simt_hart_id(void) { return SIMT_CSR_CONSTANT(CSR_MHARTID); }
SIMT_INLINE uint32_t simt_num_threads(void) { return SIMT_CSR_CONSTANT(CSR_NUM_THREADS); }
SIMT_INLINE uint32_t simt_num_warps(void) { return SIMT_CSR_CONSTANT(CSR_NUM_WARPS); }
SIMT_INLINE uint32_t simt_num_cores(void) { return SIMT_CSR_CONSTANT(CSR_NUM_CORES); }
SIMT_INLINE uint32_t simt_active_warps(void) { return SIMT_CSR_READ(CSR_ACTIVE_WARPS); }
SIMT_INLINE uint32_t simt_active_threads(void) { return SIMT_CSR_READ(CSR_ACTIVE_THREADS); }
SIMT_INLINE uint32_t simt_cycle(void) { return SIMT_CSR_READ(CSR_MCYCLE); }
SIMT_INLINE uint32_t simt_instret(void) { return SIMT_CSR_READ(CSR_MINSTRET); }

/* The measured region: the counters run between these two. */
SIMT_INLINE void region_begin(void) { SIMT_CSR_WRITE(CSR_MREGION, 1); }
SIMT_INLINE void region_end(void) { SIMT_CSR_WRITE(CSR_MREGION, 0); }

/* Parameters of the warp policies (docs/policies.md, "Changing them"); for machines with SmConfig.policy_csr. On others, and
 * for an invalid value, nothing happens. Meant for main, between two spawn_threads(). */
#define POLICY_GROUP_WARPS       1 /* two_level: warps of a group */
#define POLICY_LOCALITY_BASE     2 /* ccws: the least score */
#define POLICY_LOCALITY_THROTTLE 3 /* ccws: how much a loss of locality counts */
#define POLICY_SLOT              4 /* variable_rate: see policy_slot() */
#define POLICY_FRAME             5 /* variable_rate: slots of a frame */

#define POLICY_WORD(parameter, slot, value) \
    ((uint32_t)(parameter) << 24 | ((uint32_t)(slot) & 0xFF) << 16 | ((uint32_t)(value) > 0xFFFF ? 0xFFFF : (uint32_t)(value)))
SIMT_INLINE void policy_set(uint32_t __parameter, uint32_t __value)
{
    SIMT_CSR_WRITE(CSR_MPOLICY, POLICY_WORD(__parameter, 0, __value));
}
/* Slot number `slot` of the frame is `warp`'s. */
SIMT_INLINE void policy_slot(uint32_t __slot, uint32_t __warp)
{
    SIMT_CSR_WRITE(CSR_MPOLICY, POLICY_WORD(__slot < 256 ? POLICY_SLOT : 0, __slot, __warp));
}

/* The argument block that the host placed (mscratch at launch). */
SIMT_INLINE const void *kernel_arguments(void) { return (const void *)SIMT_CSR_READ(CSR_MSCRATCH); }

/* ---- Threads: grid and block, as in Vortex's vx_spawn_threads ---- */

/* The program may have macros of these names. */
#pragma push_macro("x")
#pragma push_macro("y")
#pragma push_macro("z")
#undef x
#undef y
#undef z
typedef struct {
    uint32_t x, y, z;
} dim3_t;
#pragma pop_macro("x")
#pragma pop_macro("y")
#pragma pop_macro("z")

typedef void (*thread_function)(const void *__argument);

/* Run `function(argument)` once for every thread of every block of the grid, on all warps; return when all are done.
 *
 * dimension   1, 2 or 3: how many entries of grid and block count.
 * grid, block sizes; block may be null: blocks of one thread. The grid may have any size: blocks that do not fit run in
 *             further rounds, and the last round masks the lanes that are left over.
 * Returns 0, or -1 when a block has more threads than the machine (nothing ran).
 * Call it from main, that is warp 0, lane 0. The threads of a block run on one group of warps and may use
 * __syncthreads() and local_memory(). The function should be a leaf that lives in the 15 caller-saved registers:
 * values that it keeps on the stack go through memory.
 */
int spawn_threads(uint32_t __dimension, const uint32_t *__grid_dim, const uint32_t *__block_dim,
                  thread_function __function, const void *__argument);

register uint32_t metronome_block_x __asm__("s2");
register uint32_t metronome_block_y __asm__("s3");
register uint32_t metronome_block_z __asm__("s4");
register uint32_t metronome_thread_x __asm__("s5");
register uint32_t metronome_thread_y __asm__("s6");
register uint32_t metronome_thread_z __asm__("s7");
register uint32_t metronome_local_group __asm__("s8");
register uint32_t metronome_group_warps __asm__("s9");

typedef struct {
    thread_function __function;
    const void *__argument;
    uint32_t __total, __step, __dimension;
    dim3_t __grid_dim, __block_dim;
    uint32_t __block_size, __group_warps;
#ifdef METRONOME_SMS
    uint32_t __mode, __region, __sm_warps;
#endif
} __attribute__((__aligned__(CONTEXT_BYTES))) __spawn_context_t;

extern __spawn_context_t __spawn_context;

#define blockIdx ((dim3_t){metronome_block_x, metronome_block_y, metronome_block_z})
#define threadIdx ((dim3_t){metronome_thread_x, metronome_thread_y, metronome_thread_z})
#define gridDim (__spawn_context.__grid_dim)
#define blockDim (__spawn_context.__block_dim)

/* Wait until every warp of this block is here. */
SIMT_INLINE void __syncthreads(void) { simt_bar(metronome_local_group, metronome_group_warps); }

/* This block's slice of local memory, `bytes` long: the same for every thread of the block, another for each other
 * block that is resident. The caller sees to it that all slices together fit. */
SIMT_INLINE void *local_memory(uint32_t __bytes)
{
    return (void *)(SIMT_CSR_CONSTANT(CSR_LOCAL_BASE) + metronome_local_group * __bytes);
}

/* The sum of `value` over all threads of this block, in each of them. All threads of the block call it together.
 * `cells` is one word for each thread of the block, the same for all of them (local_memory). The order of the additions
 * depends on the block's size alone. */
uint32_t block_sum(uint32_t __value, uint32_t *__cells);
float block_sum_float(float __value, float *__cells);

/* ---- Small helpers ---- */

/* c ? a : b without a branch; c is 0 or 1. */
SIMT_INLINE float simt_select_float(uint32_t __c, float __a, float __b)
{
    uint32_t __mask = 0u - __c;
    __asm__("" : "+r"(__mask)); /* else the compiler sees through it and makes a float select, that is a branch */
    const uint32_t __bits =
        (__builtin_bit_cast(uint32_t, __a) & __mask) | (__builtin_bit_cast(uint32_t, __b) & ~__mask);
    return __builtin_bit_cast(float, __bits);
}

/* Print one character, or a text, on this thread's console slot. */
SIMT_INLINE void console_putchar(char __character)
{
    ((volatile char *)MEMORY_CONSOLE)[simt_hart_id() % MEMORY_CONSOLE_BYTES] = __character;
}

void console_puts(const char *__text);
void console_hex(uint32_t __value);

__attribute__((__noreturn__)) void exit(int __code);

#endif
