/* From a function of scalars the same one of vectors, element by element. */
#ifndef METRONOME_OPENCL_WIDEN_H
#define METRONOME_OPENCL_WIDEN_H

#define METRONOME_CL static inline __attribute__((overloadable, always_inline, nodebug))

#define METRONOME_WIDEN1(result, type, name)                                                               \
    METRONOME_CL result##2 name(type##2 x) { return (result##2)(name(x.x), name(x.y)); }                   \
    METRONOME_CL result##3 name(type##3 x) { return (result##3)(name(x.x), name(x.y), name(x.z)); }        \
    METRONOME_CL result##4 name(type##4 x) { return (result##4)(name(x.lo), name(x.hi)); }                 \
    METRONOME_CL result##8 name(type##8 x) { return (result##8)(name(x.lo), name(x.hi)); }                 \
    METRONOME_CL result##16 name(type##16 x) { return (result##16)(name(x.lo), name(x.hi)); }

#define METRONOME_WIDEN2(result, type, second, name)                                                                     \
    METRONOME_CL result##2 name(type##2 x, second##2 y) { return (result##2)(name(x.x, y.x), name(x.y, y.y)); }          \
    METRONOME_CL result##3 name(type##3 x, second##3 y)                                                                  \
    {                                                                                                                    \
        return (result##3)(name(x.x, y.x), name(x.y, y.y), name(x.z, y.z));                                              \
    }                                                                                                                    \
    METRONOME_CL result##4 name(type##4 x, second##4 y) { return (result##4)(name(x.lo, y.lo), name(x.hi, y.hi)); }      \
    METRONOME_CL result##8 name(type##8 x, second##8 y) { return (result##8)(name(x.lo, y.lo), name(x.hi, y.hi)); }      \
    METRONOME_CL result##16 name(type##16 x, second##16 y) { return (result##16)(name(x.lo, y.lo), name(x.hi, y.hi)); }

#define METRONOME_WIDEN3(type, name)                                                                                     \
    METRONOME_CL type##2 name(type##2 x, type##2 y, type##2 z)                                                           \
    {                                                                                                                    \
        return (type##2)(name(x.x, y.x, z.x), name(x.y, y.y, z.y));                                                      \
    }                                                                                                                    \
    METRONOME_CL type##3 name(type##3 x, type##3 y, type##3 z)                                                           \
    {                                                                                                                    \
        return (type##3)(name(x.x, y.x, z.x), name(x.y, y.y, z.y), name(x.z, y.z, z.z));                                 \
    }                                                                                                                    \
    METRONOME_CL type##4 name(type##4 x, type##4 y, type##4 z)                                                           \
    {                                                                                                                    \
        return (type##4)(name(x.lo, y.lo, z.lo), name(x.hi, y.hi, z.hi));                                                \
    }                                                                                                                    \
    METRONOME_CL type##8 name(type##8 x, type##8 y, type##8 z)                                                           \
    {                                                                                                                    \
        return (type##8)(name(x.lo, y.lo, z.lo), name(x.hi, y.hi, z.hi));                                                \
    }                                                                                                                    \
    METRONOME_CL type##16 name(type##16 x, type##16 y, type##16 z)                                                       \
    {                                                                                                                    \
        return (type##16)(name(x.lo, y.lo, z.lo), name(x.hi, y.hi, z.hi));                                               \
    }

/* Once for each width: macro(type, vector). */
#define METRONOME_EACH_WIDTH(macro, type) \
    macro(type, type##2) macro(type, type##3) macro(type, type##4) macro(type, type##8) macro(type, type##16)

#endif
