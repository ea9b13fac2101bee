/* Relations: 1 and 0 of scalars, -1 and 0 in each element of vectors. */
#ifndef METRONOME_OPENCL_RELATIONS_H
#define METRONOME_OPENCL_RELATIONS_H

#define METRONOME_RELATION2(name, value)                                 \
    METRONOME_CL int name(float x, float y) { return value; }            \
    METRONOME_CL int2 name(float2 x, float2 y) { return value; }         \
    METRONOME_CL int3 name(float3 x, float3 y) { return value; }         \
    METRONOME_CL int4 name(float4 x, float4 y) { return value; }         \
    METRONOME_CL int8 name(float8 x, float8 y) { return value; }         \
    METRONOME_CL int16 name(float16 x, float16 y) { return value; }
METRONOME_RELATION2(isequal, x == y)
METRONOME_RELATION2(isnotequal, x != y)
METRONOME_RELATION2(isgreater, x > y)
METRONOME_RELATION2(isgreaterequal, x >= y)
METRONOME_RELATION2(isless, x < y)
METRONOME_RELATION2(islessequal, x <= y)
METRONOME_RELATION2(islessgreater, (x < y) | (x > y))
METRONOME_RELATION2(isordered, (x == x) & (y == y))
METRONOME_RELATION2(isunordered, (x != x) | (y != y))

#define METRONOME_RELATION1(name, value)                    \
    METRONOME_CL int name(float x) { return value; }        \
    METRONOME_CL int2 name(float2 x) { return value; }      \
    METRONOME_CL int3 name(float3 x) { return value; }      \
    METRONOME_CL int4 name(float4 x) { return value; }      \
    METRONOME_CL int8 name(float8 x) { return value; }      \
    METRONOME_CL int16 name(float16 x) { return value; }
METRONOME_RELATION1(isnan, x != x)
METRONOME_RELATION1(isinf, fabs(x) == INFINITY)
METRONOME_RELATION1(isfinite, fabs(x) < INFINITY)
METRONOME_RELATION1(isnormal, (fabs(x) < INFINITY) & (fabs(x) >= FLT_MIN))
METRONOME_CL int signbit(float x) { return (int)(__metronome_bits(x) >> 31); }
METRONOME_CL int __metronome_signs(float x) { return -signbit(x); }
METRONOME_WIDEN1(int, float, __metronome_signs)
#define METRONOME_SIGNBIT(type, vector) \
    METRONOME_CL int##vector signbit(float##vector x) { return __metronome_signs(x); }
METRONOME_SIGNBIT(float, 2)
METRONOME_SIGNBIT(float, 3)
METRONOME_SIGNBIT(float, 4)
METRONOME_SIGNBIT(float, 8)
METRONOME_SIGNBIT(float, 16)

/* The highest bit of each element counts. */
#define METRONOME_ANY(type)                                                       \
    METRONOME_CL int any(type x) { return x < 0; }                                \
    METRONOME_CL int all(type x) { return x < 0; }                                \
    METRONOME_CL int any(type##2 x) { return (x.x | x.y) < 0; }                   \
    METRONOME_CL int all(type##2 x) { return (x.x & x.y) < 0; }                   \
    METRONOME_CL int any(type##3 x) { return (x.x | x.y | x.z) < 0; }             \
    METRONOME_CL int all(type##3 x) { return (x.x & x.y & x.z) < 0; }             \
    METRONOME_CL int any(type##4 x) { return any(x.lo | x.hi); }                  \
    METRONOME_CL int all(type##4 x) { return all(x.lo & x.hi); }                  \
    METRONOME_CL int any(type##8 x) { return any(x.lo | x.hi); }                  \
    METRONOME_CL int all(type##8 x) { return all(x.lo & x.hi); }                  \
    METRONOME_CL int any(type##16 x) { return any(x.lo | x.hi); }                 \
    METRONOME_CL int all(type##16 x) { return all(x.lo & x.hi); }
METRONOME_ANY(char)
METRONOME_ANY(short)
METRONOME_ANY(int)
METRONOME_ANY(long)

/* select: of scalars whether c is not 0, of vectors the highest bit of each element. */
#define METRONOME_CHOOSE(type, bits, mask, flag)                                                           \
    METRONOME_CL type bitselect(type a, type b, type c)                                                    \
    {                                                                                                      \
        const bits m = __builtin_astype(c, bits);                                                          \
        return __builtin_astype((bits)((__builtin_astype(a, bits) & ~m) | (__builtin_astype(b, bits) & m)), type); \
    }                                                                                                      \
    METRONOME_CL type select(type a, type b, mask c) { return flag; }                                      \
    METRONOME_CL type select(type a, type b, u##mask c) { return flag; }
#define METRONOME_CHOOSE_ALL(type, mask)                                                                   \
    METRONOME_CHOOSE(type, u##mask, mask, c ? b : a)                                                       \
    METRONOME_CHOOSE_VECTOR(type, mask, 2) METRONOME_CHOOSE_VECTOR(type, mask, 3)                          \
    METRONOME_CHOOSE_VECTOR(type, mask, 4) METRONOME_CHOOSE_VECTOR(type, mask, 8)                          \
    METRONOME_CHOOSE_VECTOR(type, mask, 16)
#define METRONOME_CHOOSE_VECTOR(type, mask, width) \
    METRONOME_CHOOSE(type##width, u##mask##width, mask##width, __builtin_astype(c, mask##width) < (mask##width)0 ? b : a)
METRONOME_CHOOSE_ALL(char, char)
METRONOME_CHOOSE_ALL(uchar, char)
METRONOME_CHOOSE_ALL(short, short)
METRONOME_CHOOSE_ALL(ushort, short)
METRONOME_CHOOSE_ALL(int, int)
METRONOME_CHOOSE_ALL(uint, int)
METRONOME_CHOOSE_ALL(long, long)
METRONOME_CHOOSE_ALL(ulong, long)
METRONOME_CHOOSE_ALL(float, int)

#endif
