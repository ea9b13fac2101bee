/* A work-item of a kernel with local memory begins here: tp leads to that of its work-group while the kernel runs.
 *
 * A __local variable is an offset from tp (sim/program/opencl/local.py). Else tp is the address of the launch record (context.h).
 */
#include "context.h"
#include "opencl/launch.h"

    .section .text.opencl, "ax"
    .type __opencl_entry, @function
__opencl_entry:
    addi   sp, sp, -16
    sw     ra, 12(sp)
    la     t0, __opencl_range
    lw     t0, OPENCL_LOCAL_BYTES(t0)
    mul    t0, t0, s8
    csrr   tp, CSR_LOCAL_BASE
    add    tp, tp, t0
    call   __opencl_kernel
    la     tp, __spawn_context
    lw     ra, 12(sp)
    addi   sp, sp, 16
    ret
    .size __opencl_entry, . - __opencl_entry

/* Where a work-item begins without local memory, and with it. */
    .section .rodata.opencl_entries, "a"
    .p2align 2
    .globl __opencl_entries
    .type __opencl_entries, @object
__opencl_entries:
    .word  __opencl_kernel, __opencl_entry
    .size __opencl_entries, . - __opencl_entries
