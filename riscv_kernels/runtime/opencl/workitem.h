/* Identity of a work-item, barriers and fences. The registers are those of context.h; spawn.S keeps them. */
#ifndef METRONOME_OPENCL_WORKITEM_H
#define METRONOME_OPENCL_WORKITEM_H

/* launch.h */
extern __constant struct {
    uint dimension;
    uint of_global[3], of_local[3], of_groups[3];
    uint local_bytes;
} __opencl_range;

#define METRONOME_PLACE(name, x, y, z)                                            \
    METRONOME_CL size_t name(uint dimension)                                      \
    {                                                                             \
        uint value = 0;                                                           \
        switch (dimension) {                                                      \
        case 0: __asm__("mv %0, " x : "=r"(value)); break;                        \
        case 1: __asm__("mv %0, " y : "=r"(value)); break;                        \
        case 2: __asm__("mv %0, " z : "=r"(value)); break;                        \
        }                                                                         \
        return value;                                                             \
    }
METRONOME_PLACE(get_group_id, "s2", "s3", "s4")
METRONOME_PLACE(get_local_id, "s5", "s6", "s7")

METRONOME_CL uint get_work_dim(void) { return __opencl_range.dimension; }
METRONOME_CL size_t get_global_size(uint dimension) { return dimension < 3 ? __opencl_range.of_global[dimension] : 1; }
METRONOME_CL size_t get_local_size(uint dimension) { return dimension < 3 ? __opencl_range.of_local[dimension] : 1; }
METRONOME_CL size_t get_num_groups(uint dimension) { return dimension < 3 ? __opencl_range.of_groups[dimension] : 1; }
METRONOME_CL size_t get_global_offset(uint dimension) { return 0; }
METRONOME_CL size_t get_global_id(uint dimension)
{
    return get_group_id(dimension) * get_local_size(dimension) + get_local_id(dimension);
}

typedef uint cl_mem_fence_flags;
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2

/* The number of the group among those that are resident, and its warps. */
METRONOME_CL void barrier(cl_mem_fence_flags flags) { __asm__ volatile(".insn r 0x0B, 4, 0, x0, s8, s9" ::: "memory"); }
METRONOME_CL void mem_fence(cl_mem_fence_flags flags) { __asm__ volatile("fence" ::: "memory"); }
METRONOME_CL void read_mem_fence(cl_mem_fence_flags flags) { mem_fence(flags); }
METRONOME_CL void write_mem_fence(cl_mem_fence_flags flags) { mem_fence(flags); }

#define prefetch(place, count) ((void)(place), (void)(count))

#endif
