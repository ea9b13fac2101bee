/* vloadn and vstoren, of every type in every address space. */
#ifndef METRONOME_OPENCL_VECTORS_IN_MEMORY_H
#define METRONOME_OPENCL_VECTORS_IN_MEMORY_H

#define METRONOME_VLOAD(type, space)                                                                        \
    METRONOME_CL type##2 vload2(size_t n, const space type *p) { return (type##2)(p[2 * n], p[2 * n + 1]); } \
    METRONOME_CL type##3 vload3(size_t n, const space type *p)                                              \
    {                                                                                                       \
        return (type##3)(p[3 * n], p[3 * n + 1], p[3 * n + 2]);                                             \
    }                                                                                                       \
    METRONOME_CL type##4 vload4(size_t n, const space type *p)                                              \
    {                                                                                                       \
        return (type##4)(vload2(2 * n, p), vload2(2 * n + 1, p));                                           \
    }                                                                                                       \
    METRONOME_CL type##8 vload8(size_t n, const space type *p)                                              \
    {                                                                                                       \
        return (type##8)(vload4(2 * n, p), vload4(2 * n + 1, p));                                           \
    }                                                                                                       \
    METRONOME_CL type##16 vload16(size_t n, const space type *p)                                            \
    {                                                                                                       \
        return (type##16)(vload8(2 * n, p), vload8(2 * n + 1, p));                                          \
    }
#define METRONOME_VSTORE(type, space)                                                                       \
    METRONOME_CL void vstore2(type##2 v, size_t n, space type *p) { p[2 * n] = v.x; p[2 * n + 1] = v.y; }   \
    METRONOME_CL void vstore3(type##3 v, size_t n, space type *p)                                           \
    {                                                                                                       \
        p[3 * n] = v.x; p[3 * n + 1] = v.y; p[3 * n + 2] = v.z;                                             \
    }                                                                                                       \
    METRONOME_CL void vstore4(type##4 v, size_t n, space type *p)                                           \
    {                                                                                                       \
        vstore2(v.lo, 2 * n, p); vstore2(v.hi, 2 * n + 1, p);                                               \
    }                                                                                                       \
    METRONOME_CL void vstore8(type##8 v, size_t n, space type *p)                                           \
    {                                                                                                       \
        vstore4(v.lo, 2 * n, p); vstore4(v.hi, 2 * n + 1, p);                                               \
    }                                                                                                       \
    METRONOME_CL void vstore16(type##16 v, size_t n, space type *p)                                         \
    {                                                                                                       \
        vstore8(v.lo, 2 * n, p); vstore8(v.hi, 2 * n + 1, p);                                               \
    }
#define METRONOME_IN_MEMORY(type)                                                     \
    METRONOME_VLOAD(type, __constant)                                                 \
    METRONOME_VLOAD(type, __global) METRONOME_VSTORE(type, __global)                  \
    METRONOME_VLOAD(type, __local) METRONOME_VSTORE(type, __local)                    \
    METRONOME_VLOAD(type, __private) METRONOME_VSTORE(type, __private)
METRONOME_IN_MEMORY(char)
METRONOME_IN_MEMORY(uchar)
METRONOME_IN_MEMORY(short)
METRONOME_IN_MEMORY(ushort)
METRONOME_IN_MEMORY(int)
METRONOME_IN_MEMORY(uint)
METRONOME_IN_MEMORY(long)
METRONOME_IN_MEMORY(ulong)
METRONOME_IN_MEMORY(float)

#endif
