/* shuffle and shuffle2: by halves, so that a mask that is no constant needs no array. */
#ifndef METRONOME_OPENCL_SHUFFLE_H
#define METRONOME_OPENCL_SHUFFLE_H

/* The element of a vector with the number i, modulo how many there are. */
#define METRONOME_PICK(type)                                                                                            \
    METRONOME_CL type __metronome_pick(type##2 x, uint i) { return i & 1 ? x.y : x.x; }                                 \
    METRONOME_CL type __metronome_pick(type##4 x, uint i) { return __metronome_pick(i & 2 ? x.hi : x.lo, i); }          \
    METRONOME_CL type __metronome_pick(type##8 x, uint i) { return __metronome_pick(i & 4 ? x.hi : x.lo, i); }          \
    METRONOME_CL type __metronome_pick(type##16 x, uint i) { return __metronome_pick(i & 8 ? x.hi : x.lo, i); }

#define METRONOME_SHUFFLE_TO(type, mask, from, width, part)                                              \
    METRONOME_CL type##width shuffle(type##from x, mask##width m)                                        \
    {                                                                                                    \
        return (type##width)(shuffle(x, m.lo), shuffle(x, m.hi));                                        \
    }                                                                                                    \
    METRONOME_CL type##width shuffle2(type##from x, type##from y, mask##width m)                         \
    {                                                                                                    \
        return (type##width)(shuffle2(x, y, m.lo), shuffle2(x, y, m.hi));                                \
    }
#define METRONOME_SHUFFLE_FROM(type, mask, from)                                                         \
    METRONOME_CL type __metronome_pick2(type##from x, type##from y, uint i)                              \
    {                                                                                                    \
        return __metronome_pick(i & from ? y : x, i);                                                    \
    }                                                                                                    \
    METRONOME_CL type##2 shuffle(type##from x, mask##2 m)                                                \
    {                                                                                                    \
        return (type##2)(__metronome_pick(x, (uint)m.x), __metronome_pick(x, (uint)m.y));                \
    }                                                                                                    \
    METRONOME_CL type##2 shuffle2(type##from x, type##from y, mask##2 m)                                 \
    {                                                                                                    \
        return (type##2)(__metronome_pick2(x, y, (uint)m.x), __metronome_pick2(x, y, (uint)m.y));        \
    }                                                                                                    \
    METRONOME_SHUFFLE_TO(type, mask, from, 4, 2)                                                         \
    METRONOME_SHUFFLE_TO(type, mask, from, 8, 4)                                                         \
    METRONOME_SHUFFLE_TO(type, mask, from, 16, 8)
#define METRONOME_SHUFFLE(type, mask)                                                    \
    METRONOME_PICK(type)                                                                 \
    METRONOME_SHUFFLE_FROM(type, mask, 2) METRONOME_SHUFFLE_FROM(type, mask, 4)          \
    METRONOME_SHUFFLE_FROM(type, mask, 8) METRONOME_SHUFFLE_FROM(type, mask, 16)
METRONOME_SHUFFLE(char, uchar)
METRONOME_SHUFFLE(uchar, uchar)
METRONOME_SHUFFLE(short, ushort)
METRONOME_SHUFFLE(ushort, ushort)
METRONOME_SHUFFLE(int, uint)
METRONOME_SHUFFLE(uint, uint)
METRONOME_SHUFFLE(long, ulong)
METRONOME_SHUFFLE(ulong, ulong)

/* As words: a choice of words is no branch. */
#define METRONOME_SHUFFLE_FLOAT(from, width)                                                             \
    METRONOME_CL float##width shuffle(float##from x, uint##width m)                                      \
    {                                                                                                    \
        return __builtin_astype(shuffle(__builtin_astype(x, uint##from), m), float##width);              \
    }                                                                                                    \
    METRONOME_CL float##width shuffle2(float##from x, float##from y, uint##width m)                      \
    {                                                                                                    \
        return __builtin_astype(shuffle2(__builtin_astype(x, uint##from), __builtin_astype(y, uint##from), m), float##width); \
    }
#define METRONOME_SHUFFLE_FLOATS(from)                                                   \
    METRONOME_SHUFFLE_FLOAT(from, 2) METRONOME_SHUFFLE_FLOAT(from, 4)                    \
    METRONOME_SHUFFLE_FLOAT(from, 8) METRONOME_SHUFFLE_FLOAT(from, 16)
METRONOME_SHUFFLE_FLOATS(2)
METRONOME_SHUFFLE_FLOATS(4)
METRONOME_SHUFFLE_FLOATS(8)
METRONOME_SHUFFLE_FLOATS(16)

#endif
