/* How the warps of a launch are started: on this SM, or in a program for several SMs (METRONOME_SMS) on all of them. */
#ifndef METRONOME_SMS_H
#define METRONOME_SMS_H

#include "metronome.h"

/* spawn.S */
void __spawn_threads(uint32_t warps);
void __spawn_groups(uint32_t warps);

#ifdef METRONOME_SMS

/* The number of SMs that take part. */
SIMT_INLINE uint32_t sms_of_launch(void) { return simt_num_cores(); }

/* Wait until all SMs are here, each with one warp. What they have stored is then seen by all (crt0.S). */
void __sms_meet(void);

/* Run this SM's share of the launch in the record. */
static inline void sm_runs(void)
{
    const __spawn_context_t *const context = &__spawn_context;
    const uint32_t sm = simt_core_id();
#ifdef METRONOME_DISPATCH
    /* Each group of warps takes its blocks itself. With static dispatch an SM that has a block has a group, too. */
    const uint32_t threads = context->__mode == SMS_THREADS;
    const uint32_t used = threads ? context->__step / simt_num_threads() : context->__step;
    if (used <= sm)
        return;
    const uint32_t here = (used - sm - 1) / simt_num_cores() + 1;
    if (threads)
        __spawn_threads(here);
    else
        __spawn_groups(here * context->__group_warps);
#else
    if (context->__mode == SMS_THREADS) {
        const uint32_t used = context->__step / simt_num_threads();
        const uint32_t before = sm * context->__sm_warps;
        const uint32_t left = used > before ? used - before : 0;
        const uint32_t here = left < context->__sm_warps ? left : context->__sm_warps;
        if (here)
            __spawn_threads(here);
    } else if (context->__step > sm) {
        const uint32_t groups = (context->__step - sm - 1) / simt_num_cores() + 1;
        __spawn_groups(groups * context->__group_warps);
    }
#endif
}

/* Run the launch in the record on all SMs. Only warp 0 of SM 0 calls it. */
static inline void sms_run(uint32_t mode)
{
    __spawn_context_t *const context = &__spawn_context;
    context->__mode = mode;
#ifdef METRONOME_DISPATCH
    /* The number of blocks; of those of one thread, as many as lanes are taken at a time (spawn.S). */
    const uint32_t total = context->__total;
    *(volatile uint32_t *)METRONOME_DISPATCH =
        mode == SMS_THREADS ? (total - 1) / simt_num_threads() + 1 : total;
#endif
    context->__region = SIMT_CSR_READ(CSR_MREGION);
    __sms_meet();
    sm_runs();
    __sms_meet();
    context->__mode = SMS_NOTHING;
}

/* `used` warps in all; the same number on each SM, as far as that goes. */
static inline void run_threads(uint32_t used, uint32_t sms)
{
    __spawn_context.__sm_warps = (used - 1) / sms + 1;
    sms_run(SMS_THREADS);
}

/* `groups` groups of warps in all. */
static inline void run_groups(uint32_t groups, uint32_t group_warps)
{
    (void)groups, (void)group_warps;
    sms_run(SMS_GROUPS);
}

#else

SIMT_INLINE uint32_t sms_of_launch(void) { return 1; }
SIMT_INLINE void run_threads(uint32_t used, uint32_t sms)
{
    (void)sms;
    __spawn_threads(used);
}
SIMT_INLINE void run_groups(uint32_t groups, uint32_t group_warps) { __spawn_groups(groups * group_warps); }

#endif

#endif
