/* Start-up: warp 0 arrives here with lane 0 alone and every register undefined (isa.md, "Memory map and launch"). */
#include "context.h"
#include "memory_map.h"
#include "simt_asm.h"

    .section .text.start, "ax"
    .globl _start
    .type _start, @function
_start:
    csrr   a0, CSR_NUM_WARPS
    la     a1, init_warp
    WSPAWN(a0, a1)
    li     t0, -1
    TMC(t0)
    la     t1, 1f
    j      init_lanes
1:  /* All lanes clear .bss, a row of words at a time; link.ld makes it a whole number of 32-lane rows. */
#ifdef METRONOME_SMS
    csrr   t0, CSR_CORE_ID
    bnez   t0, 3f                /* SM 0 does it */
#endif
    csrr   t0, CSR_THREAD_ID
    csrr   t1, CSR_NUM_THREADS
    slli   t0, t0, 2
    slli   t1, t1, 2
    la     t2, __bss_start
    la     t3, __bss_end
    beq    t2, t3, 3f
2:  add    t4, t2, t0
    sw     zero, 0(t4)
    add    t2, t2, t1
    bne    t2, t3, 2b
3:  li     t0, 1
    TMC(t0)
    WSPAWN(t0, a1)               /* wait until the other warps have ended */
#ifdef METRONOME_SMS
    csrr   t0, CSR_CORE_ID
    beqz   t0, 4f
    call   __sm_main             /* the others help SM 0 until it ends */
    TMC(zero)
4:
#endif
    call   main
    /* fall through: main's result is the exit code */
    .size _start, . - _start

    .weak  exit
    .type exit, @function
exit:
#if MEMORY_EXIT_CODE < 2048
    sw     a0, MEMORY_EXIT_CODE(zero)
#else
    li     t0, MEMORY_EXIT_CODE
    sw     a0, 0(t0)
#endif
    fence
#ifdef METRONOME_SMS
    /* If main ends, tell the other SMs; not if a thread of spawn_threads() ends itself here. */
    csrr   t0, CSR_CORE_ID
    csrr   t1, CSR_WARP_ID
    or     t0, t0, t1
    la     t1, __spawn_context
    lw     t1, CONTEXT_MODE(t1)
    or     t0, t0, t1
    bnez   t0, 5f
    call   __sms_meet
5:
#endif
    TMC(zero)
    .size exit, . - exit

#ifdef METRONOME_SMS
    .globl __sms_meet
    .type __sms_meet, @function
__sms_meet:
    li     t0, SMS_BARRIER
    csrr   t1, CSR_NUM_CORES
    BAR(t0, t1)
    ret
    .size __sms_meet, . - __sms_meet
#endif

/* Every other warp, once: set the lanes up and end. Registers outlive the end of a warp. */
    .type init_warp, @function
init_warp:
    li     t0, -1
    TMC(t0)
    la     t1, __end_warp
    .size init_warp, . - init_warp
    /* fall through */

/* Give every lane gp, tp and its stacks; then jump to t1. */
    .type init_lanes, @function
init_lanes:
    csrr   t0, CSR_MHARTID
    li     sp, MEMORY_STACK_TOP
#if MEMORY_STACK_BYTES_PER_HART == 8192
    slli   t0, t0, 13
#else
    li     t2, MEMORY_STACK_BYTES_PER_HART
    mul    t0, t0, t2
#endif
    sub    sp, sp, t0
#ifdef METRONOME_DIVERGENCE
    li     s0, -MEMORY_STACK_BYTES_PER_HART
    add    s0, s0, sp            /* the lowest address of the stack (sim/program/divergence/places.py) */
#endif
    .option push
    .option norelax
    la     gp, __global_pointer$
    .option pop
    la     tp, __spawn_context
    jr     t1
    .size init_lanes, . - init_lanes

    .globl __end_warp
    .type __end_warp, @function
__end_warp:
    TMC(zero)
    .size __end_warp, . - __end_warp
