/* The host's record for the launcher: the beginning of the argument block (sim/program/opencl/launch.py writes it). */
#ifndef METRONOME_OPENCL_LAUNCH_H
#define METRONOME_OPENCL_LAUNCH_H

#define OPENCL_LOCAL_BYTES 40 /* offset of local_bytes in opencl_range */

#ifndef __ASSEMBLER__
#include <stdint.h>

/* The range of work-items; opencl/workitem.h reads it. */
typedef struct {
    uint32_t dimension;
    uint32_t global[3], local[3], groups[3];
    uint32_t local_bytes; /* local memory of a work-group */
} opencl_range;

typedef struct {
    opencl_range range;
    uint32_t single;      /* the work-items are their own work-groups, and need no separate warp */
    uint32_t resident;    /* at most so many work-groups at a time */
    const void *arguments;
} opencl_launch;
#endif

#endif
