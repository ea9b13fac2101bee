/* half in memory: vload_half, vstore_half with their modes, and the aligned forms. There is no half elsewhere. */
#ifndef METRONOME_OPENCL_HALVES_H
#define METRONOME_OPENCL_HALVES_H

METRONOME_CL float __metronome_from_half(ushort x)
{
    const uint size = (uint)(x & 0x7fff) << 13, sign = (uint)(x & 0x8000) << 16;
    /* The exponents differ by 112; the product is exact, also of a subnormal number. */
    const uint usual = __metronome_bits(__metronome_float(size) * 0x1p112f);
    return __metronome_float(sign | (size >= 0x0f800000u ? size | 0x7f800000u : usual));
}
METRONOME_WIDEN1(float, ushort, __metronome_from_half)

/* `up`: whether a number whose last bits `rest` are dropped is rounded away from 0; `tie` is half a unit. `most`: for
 * numbers that are too large. */
#define METRONOME_TO_HALF(mode, up, most)                                                   \
    METRONOME_CL ushort __metronome_to_half##mode(float x)                                  \
    {                                                                                       \
        const uint size = __metronome_bits(x) & 0x7fffffffu;                                \
        const uint sign = (__metronome_bits(x) >> 16) & 0x8000u;                            \
        const uint small = size < 0x38800000u;                                              \
        const uint places = small ? 126 - (size >> 23) : 13;                                \
        const uint shift = places > 31 ? 31 : places;                                       \
        const uint number = small ? (size & 0x7fffffu) | (size > 0x7fffffu ? 0x800000u : 0) \
                                  : size - 0x38000000u;                                     \
        const uint rest = number & ((1u << shift) - 1), tie = 1u << (shift - 1);            \
        const uint below = number >> shift;                                                 \
        const uint rounded = below + (uint)(up);                                            \
        const uint finite = size >= 0x47800000u || rounded >= 0x7c00u ? (uint)(most) : rounded; \
        const uint special = size > 0x7f800000u ? 0x7e00u : size == 0x7f800000u ? 0x7c00u : finite; \
        return (ushort)(sign | special);                                                    \
    }                                                                                       \
    METRONOME_WIDEN1(ushort, float, __metronome_to_half##mode)
METRONOME_TO_HALF(_rte, rest > tie || (rest == tie && (below & 1)), 0x7c00)
METRONOME_TO_HALF(_rtz, 0, 0x7bff)
METRONOME_TO_HALF(_rtp, rest && !sign, sign ? 0x7bff : 0x7c00)
METRONOME_TO_HALF(_rtn, rest && sign, sign ? 0x7c00 : 0x7bff)

#define METRONOME_HALF_LOAD(width, space)                                                                      \
    METRONOME_CL float##width vload_half##width(size_t n, const space half *p)                                 \
    {                                                                                                          \
        return __metronome_from_half(vload##width(n, (const space ushort *)p));                                \
    }                                                                                                          \
    METRONOME_CL float##width vloada_half##width(size_t n, const space half *p)                                \
    {                                                                                                          \
        return __metronome_from_half(((const space ushort##width *)p)[n]);                                     \
    }
#define METRONOME_HALF_LOADS(space)                                                                            \
    METRONOME_CL float vload_half(size_t n, const space half *p)                                               \
    {                                                                                                          \
        return __metronome_from_half(((const space ushort *)p)[n]);                                            \
    }                                                                                                          \
    METRONOME_CL float vloada_half(size_t n, const space half *p) { return vload_half(n, p); }                 \
    METRONOME_HALF_LOAD(2, space) METRONOME_HALF_LOAD(3, space) METRONOME_HALF_LOAD(4, space)                  \
    METRONOME_HALF_LOAD(8, space) METRONOME_HALF_LOAD(16, space)
METRONOME_HALF_LOADS(__constant)
METRONOME_HALF_LOADS(__global)
METRONOME_HALF_LOADS(__local)
METRONOME_HALF_LOADS(__private)

#define METRONOME_HALF_STORE(width, space, mode, real)                                                         \
    METRONOME_CL void vstore_half##width##mode(float##width v, size_t n, space half *p)                        \
    {                                                                                                          \
        vstore##width(__metronome_to_half##real(v), n, (space ushort *)p);                                     \
    }                                                                                                          \
    METRONOME_CL void vstorea_half##width##mode(float##width v, size_t n, space half *p)                       \
    {                                                                                                          \
        ((space ushort##width *)p)[n] = __metronome_to_half##real(v);                                          \
    }
#define METRONOME_HALF_STORES(space, mode, real)                                                               \
    METRONOME_CL void vstore_half##mode(float v, size_t n, space half *p)                                      \
    {                                                                                                          \
        ((space ushort *)p)[n] = __metronome_to_half##real(v);                                                 \
    }                                                                                                          \
    METRONOME_CL void vstorea_half##mode(float v, size_t n, space half *p) { vstore_half##mode(v, n, p); }     \
    METRONOME_HALF_STORE(2, space, mode, real) METRONOME_HALF_STORE(3, space, mode, real)                      \
    METRONOME_HALF_STORE(4, space, mode, real) METRONOME_HALF_STORE(8, space, mode, real)                      \
    METRONOME_HALF_STORE(16, space, mode, real)
#define METRONOME_HALF_MODES(space)                                                                            \
    METRONOME_HALF_STORES(space, , _rte) METRONOME_HALF_STORES(space, _rte, _rte)                              \
    METRONOME_HALF_STORES(space, _rtz, _rtz) METRONOME_HALF_STORES(space, _rtp, _rtp)                          \
    METRONOME_HALF_STORES(space, _rtn, _rtn)
METRONOME_HALF_MODES(__global)
METRONOME_HALF_MODES(__local)
METRONOME_HALF_MODES(__private)

#endif
