/* The record of spawn_threads() for the warps, and the registers that hold a thread's place.
 * Shared by C and assembly; runtime.c asserts the offsets.
 *
 * The compiler never uses s2..s11 (-ffixed-x18 .. -ffixed-x27): between calls of the thread function
 * they belong to spawn.S. A thread therefore knows its place without a memory access, and no warp saves a register.
 *   s2 s3 s4   blockIdx.x .y .z
 *   s5 s6 s7   threadIdx.x .y .z
 *   s8         the block's number among those resident (barrier number, slice of local memory)
 *   s9         warps in a group
 *   s10        linear number: first task of this round (threads), or block (groups); with METRONOME_DISPATCH and groups
 *              the place of the block's number (spawn.S)
 *   s11        where the worker returns to
 *   tp         address of this record
 */
#ifndef METRONOME_CONTEXT_H
#define METRONOME_CONTEXT_H

#define CONTEXT_FUNCTION   0  /* the thread function */
#define CONTEXT_ARGUMENT   4  /* its argument */
#define CONTEXT_TOTAL      8  /* threads mode: tasks; groups mode: blocks */
#define CONTEXT_STEP       12 /* what one round of all spawned warps covers, in the same unit */
#define CONTEXT_DIMENSION  16 /* 1, 2 or 3 */
#define CONTEXT_GRID_X     20
#define CONTEXT_GRID_Y     24
#define CONTEXT_GRID_Z     28
#define CONTEXT_BLOCK_X    32
#define CONTEXT_BLOCK_Y    36
#define CONTEXT_BLOCK_Z    40
#define CONTEXT_BLOCK_SIZE 44 /* threads in a block */
#define CONTEXT_WARPS      48 /* warps in a group */
/* In a program for several SMs (METRONOME_SMS, docs/memory.md), which all have this record: */
#define CONTEXT_MODE       52 /* what the SMs run now: one of SMS_... */
#define CONTEXT_REGION     56 /* the measured region is open on SM 0 */
#define CONTEXT_SM_WARPS   60 /* threads mode: warps of each SM that run, except perhaps on the last SMs */
#define CONTEXT_BYTES      64 /* one memory line */

#define SMS_NOTHING 0
#define SMS_THREADS 1
#define SMS_GROUPS  2
/* The barrier between SMs: bit 31 of the id. */
#define SMS_BARRIER 0x80000000

/* CSR numbers (isa.md). */
#define CSR_MSCRATCH       0x340
#define CSR_MREGION        0x7C0
#define CSR_MPOLICY        0x7C2
#define CSR_MCYCLE         0xB00
#define CSR_MINSTRET       0xB02
#define CSR_THREAD_ID      0xCC0
#define CSR_WARP_ID        0xCC1
#define CSR_CORE_ID        0xCC2
#define CSR_ACTIVE_WARPS   0xCC3
#define CSR_ACTIVE_THREADS 0xCC4
#define CSR_MHARTID        0xF14
#define CSR_NUM_THREADS    0xFC0
#define CSR_NUM_WARPS      0xFC1
#define CSR_NUM_CORES      0xFC2
#define CSR_LOCAL_BASE     0xFC3

#endif
