/* The workers of spawn_threads(): every spawned warp runs one of them, warp 0 too. Registers: context.h. */
#include "context.h"
#include "simt_asm.h"

/* Keep only the first `left` lanes active if fewer tasks than lanes are left. Clobbers left and t6. */
.macro limit_lanes left, lanes
    bgeu   \left, \lanes, 99f
    li     t6, 1
    sll    t6, t6, \left
    addi   t6, t6, -1
    TMC(t6)
99:
.endm

/* Split the linear number in \x into up to three coordinates. Clobbers t0-t2. */
.macro split_linear x, y, z, size_x, size_y
    li     \y, 0
    li     \z, 0
    lw     t0, CONTEXT_DIMENSION(tp)
    addi   t0, t0, -1
    beqz   t0, 98f
    lw     t1, \size_x(tp)
    addi   t0, t0, -1
    divu   \y, \x, t1
    mul    t2, \y, t1
    sub    \x, \x, t2
    beqz   t0, 98f
    lw     t1, \size_y(tp)
    divu   \z, \y, t1
    mul    t2, \z, t1
    sub    \y, \y, t2
98:
.endm

#ifdef METRONOME_DISPATCH
/* Put the number of the next block into \number, the same for all lanes (docs/gpu.md, "Dispatch"). Clobbers t0. */
.macro take_block number
    lui    t0, %hi(METRONOME_DISPATCH)
    lw     \number, %lo(METRONOME_DISPATCH)(t0)
.endm

/* Jump to \none if the number says that no block is left. Clobbers t0. */
.macro if_none number, none
    not    t0, \number
    beqz   t0, \none
.endm

/* A line for each group of each SM, so that no store to it waits for one of another: in turn, its blocks are in the first
 * and the second word. Of groups of two warps or more, an SM has at most 32. */
#define TAKEN_LINE 6
#define TAKEN_SM   11
/* In s10, the address of the word: it belongs to the first warp of the group, which takes the blocks. */
#define TAKES      8
    .section .noinit, "aw", @nobits
    .p2align TAKEN_LINE
__taken_blocks:
    .zero  16 << TAKEN_SM
#endif

/* void __spawn_threads(uint32_t warps), void __spawn_groups(uint32_t warps): warps 1..warps-1 start at the entry,
 * warp 0 takes part with all its lanes; returns when every warp has ended. */
    .section .text.spawn, "ax"
.macro spawn name, entry, worker
    .globl \name
    .type \name, @function
\name:
    addi   sp, sp, -16
    sw     ra, 12(sp)
    la     a1, \entry
    WSPAWN(a0, a1)
    li     t0, -1
    TMC(t0)
    la     s11, 1f               /* in every lane: the leader decides where the worker returns to */
    j      \worker
1:  li     t0, 1
    TMC(t0)
    WSPAWN(t0, t0)               /* wait until the other warps have ended */
    lw     ra, 12(sp)
    addi   sp, sp, 16
    ret
    .size \name, . - \name
.endm
    spawn __spawn_threads, __threads_entry, __threads_worker
    spawn __spawn_groups, __groups_entry, __groups_worker

/* Blocks of one thread: lane l of warp w runs tasks (round * warps + w) * threads + l. */
    .type __threads_entry, @function
__threads_entry:
    li     t0, -1
    TMC(t0)
    la     s11, __end_warp
    .size __threads_entry, . - __threads_entry
    /* fall through */
    .type __threads_worker, @function
__threads_worker:
    csrr   t0, CSR_WARP_ID
    csrr   t1, CSR_NUM_THREADS
    li     s5, 0
    li     s6, 0
    li     s7, 0
    csrr   s8, CSR_THREAD_ID
    li     s9, 1
#if defined(METRONOME_SMS) && !defined(METRONOME_DISPATCH)
    /* Behind the warps of the SMs before this one. */
    csrr   t2, CSR_CORE_ID
    lw     t3, CONTEXT_SM_WARPS(tp)
    mul    t2, t2, t3
    add    t0, t0, t2
#endif
    mul    s10, t0, t1
    add    s8, s8, s10
1:
#ifdef METRONOME_DISPATCH
    take_block s10
    if_none s10, 2f
    csrr   t1, CSR_NUM_THREADS
    mul    s10, s10, t1          /* as many tasks as lanes at a time */
    lw     t2, CONTEXT_TOTAL(tp)
#else
    lw     t2, CONTEXT_TOTAL(tp)
    csrr   t1, CSR_NUM_THREADS
#endif
    sub    t2, t2, s10
    limit_lanes t2, t1
    csrr   s2, CSR_THREAD_ID
    add    s2, s2, s10
    split_linear s2, s3, s4, CONTEXT_GRID_X, CONTEXT_GRID_Y
    lw     t0, CONTEXT_FUNCTION(tp)
    lw     a0, CONTEXT_ARGUMENT(tp)
    jalr   t0
#ifdef METRONOME_DISPATCH
    j      1b
2:
#else
    lw     t0, CONTEXT_STEP(tp)
    lw     t1, CONTEXT_TOTAL(tp)
    add    s10, s10, t0
    bltu   s10, t1, 1b
#endif
    jr     s11
    .size __threads_worker, . - __threads_worker

/* Blocks of several threads: group g (s9 warps) runs blocks g, g + groups, g + 2 groups, ... */
    .type __groups_entry, @function
__groups_entry:
    li     t0, -1
    TMC(t0)
    la     s11, __end_warp
    .size __groups_entry, . - __groups_entry
    /* fall through */
    .type __groups_worker, @function
__groups_worker:
    csrr   t3, CSR_WARP_ID
    lw     s9, CONTEXT_WARPS(tp)
    lw     t5, CONTEXT_BLOCK_SIZE(tp)
    csrr   t4, CSR_NUM_THREADS
    divu   s8, t3, s9
    mul    t0, s8, s9
    sub    t3, t3, t0            /* warp in the group */
    mul    t3, t3, t4            /* its first thread */
    sub    t5, t5, t3
    limit_lanes t5, t4
    csrr   s5, CSR_THREAD_ID
    add    s5, s5, t3
    split_linear s5, s6, s7, CONTEXT_BLOCK_X, CONTEXT_BLOCK_Y
#ifdef METRONOME_DISPATCH
    addi   t0, s9, -1
    li     s10, 0                /* a warp alone has no such word */
    beqz   t0, 1f
    csrr   t0, CSR_CORE_ID
    slli   t0, t0, TAKEN_SM
    slli   t1, s8, TAKEN_LINE
    la     s10, __taken_blocks
    add    s10, s10, t0
    add    s10, s10, t1
    seqz   t3, t3
    slli   t3, t3, 3
    add    s10, s10, t3          /* TAKES */
1:  beqz   s10, 4f
    /* When all warps have ended the last block, which leaves its local memory to this one, all of them continue. */
    andi   t0, s10, TAKES
    xori   s10, s10, 4           /* not the word that a slower warp may still read */
    beqz   t0, 3f
    take_block s2
    sw     s2, -TAKES(s10)
    BAR(s8, s9)
    j      5f
3:  BAR(s8, s9)
    lw     s2, 0(s10)
    j      5f
4:  take_block s2
5:  if_none s2, 2f
#else
    mv     s10, s8
#ifdef METRONOME_SMS
    /* Block i is on SM i modulo their number. */
    csrr   t0, CSR_CORE_ID
    csrr   t1, CSR_NUM_CORES
    mul    s10, s10, t1
    add    s10, s10, t0
#endif
1:  mv     s2, s10
#endif
    split_linear s2, s3, s4, CONTEXT_GRID_X, CONTEXT_GRID_Y
    lw     t0, CONTEXT_FUNCTION(tp)
    lw     a0, CONTEXT_ARGUMENT(tp)
    jalr   t0
#ifdef METRONOME_DISPATCH
    j      1b
2:
#else
    BAR(s8, s9)                  /* the next block takes this block's local memory over */
    lw     t0, CONTEXT_STEP(tp)
    lw     t1, CONTEXT_TOTAL(tp)
    add    s10, s10, t0
    bltu   s10, t1, 1b
#endif
    jr     s11
    .size __groups_worker, . - __groups_worker
