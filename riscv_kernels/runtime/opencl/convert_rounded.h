/* convert_T_rte, _rtp and _rtn of float, and convert_T_sat with its rounding modes. */
#ifndef METRONOME_OPENCL_CONVERT_ROUNDED_H
#define METRONOME_OPENCL_CONVERT_ROUNDED_H

#define METRONOME_CONVERT_VECTORS(type, from, mode) \
    METRONOME_CONVERT_HALVES(type, from, mode, 2, x, y) \
    METRONOME_CL type##3 convert_##type##3##mode(from##3 x) \
    { \
        return (type##3)(convert_##type##mode(x.x), convert_##type##mode(x.y), convert_##type##mode(x.z)); \
    } \
    METRONOME_CONVERT_FOUR(type, from, mode, 4, 2) \
    METRONOME_CONVERT_FOUR(type, from, mode, 8, 4) \
    METRONOME_CONVERT_FOUR(type, from, mode, 16, 8)
#define METRONOME_CONVERT_HALVES(type, from, mode, width, first, second) \
    METRONOME_CL type##width convert_##type##width##mode(from##width v) \
    { \
        return (type##width)(convert_##type##mode(v.first), convert_##type##mode(v.second)); \
    }
#define METRONOME_CONVERT_FOUR(type, from, mode, width, part) \
    METRONOME_CL type##width convert_##type##width##mode(from##width v) \
    { \
        return (type##width)(convert_##type##part##mode(v.lo), convert_##type##part##mode(v.hi)); \
    }
#define METRONOME_SATURATE(type, from, lower, upper) \
    METRONOME_CL type convert_##type##_sat(from x) { return (type)(x < (from)(lower) ? (lower) : x > (from)(upper) ? (upper) : (type)x); } \
    METRONOME_CONVERT_VECTORS(type, from, _sat)
/* What fcvt.w.s does: the nearest value there is, and 0 for NaN in OpenCL. */
#define METRONOME_SATURATE_FLOAT(type, lower, upper) \
    METRONOME_CL type convert_##type##_sat(float x) \
    { \
        return x <= (float)(lower) ? (lower) : x >= (float)(upper) ? (upper) : x == x ? (type)x : (type)0; \
    } \
    METRONOME_CONVERT_VECTORS(type, float, _sat)
#define METRONOME_ROUNDED(type) \
    METRONOME_CL type convert_##type##_rte(float x) { return (type)rint(x); } \
    METRONOME_CL type convert_##type##_rtp(float x) { return (type)ceil(x); } \
    METRONOME_CL type convert_##type##_rtn(float x) { return (type)floor(x); } \
    METRONOME_CL type convert_##type##_sat_rte(float x) { return convert_##type##_sat(rint(x)); } \
    METRONOME_CL type convert_##type##_sat_rtz(float x) { return convert_##type##_sat(x); } \
    METRONOME_CONVERT_VECTORS(type, float, _rte) \
    METRONOME_CONVERT_VECTORS(type, float, _rtp) \
    METRONOME_CONVERT_VECTORS(type, float, _rtn) \
    METRONOME_CONVERT_VECTORS(type, float, _sat_rte) \
    METRONOME_CONVERT_VECTORS(type, float, _sat_rtz)

METRONOME_SATURATE_FLOAT(char, CHAR_MIN, CHAR_MAX)
METRONOME_SATURATE(char, char, CHAR_MIN, CHAR_MAX)
METRONOME_SATURATE(char, uchar, 0, CHAR_MAX)
METRONOME_SATURATE(char, short, CHAR_MIN, CHAR_MAX)
METRONOME_SATURATE(char, ushort, 0, CHAR_MAX)
METRONOME_SATURATE(char, int, CHAR_MIN, CHAR_MAX)
METRONOME_SATURATE(char, uint, 0, CHAR_MAX)
METRONOME_ROUNDED(char)
METRONOME_SATURATE_FLOAT(uchar, 0, UCHAR_MAX)
METRONOME_SATURATE(uchar, char, 0, CHAR_MAX)
METRONOME_SATURATE(uchar, uchar, 0, UCHAR_MAX)
METRONOME_SATURATE(uchar, short, 0, UCHAR_MAX)
METRONOME_SATURATE(uchar, ushort, 0, UCHAR_MAX)
METRONOME_SATURATE(uchar, int, 0, UCHAR_MAX)
METRONOME_SATURATE(uchar, uint, 0, UCHAR_MAX)
METRONOME_ROUNDED(uchar)
METRONOME_SATURATE_FLOAT(short, SHRT_MIN, SHRT_MAX)
METRONOME_SATURATE(short, char, CHAR_MIN, CHAR_MAX)
METRONOME_SATURATE(short, uchar, 0, UCHAR_MAX)
METRONOME_SATURATE(short, short, SHRT_MIN, SHRT_MAX)
METRONOME_SATURATE(short, ushort, 0, SHRT_MAX)
METRONOME_SATURATE(short, int, SHRT_MIN, SHRT_MAX)
METRONOME_SATURATE(short, uint, 0, SHRT_MAX)
METRONOME_ROUNDED(short)
METRONOME_SATURATE_FLOAT(ushort, 0, USHRT_MAX)
METRONOME_SATURATE(ushort, char, 0, CHAR_MAX)
METRONOME_SATURATE(ushort, uchar, 0, UCHAR_MAX)
METRONOME_SATURATE(ushort, short, 0, SHRT_MAX)
METRONOME_SATURATE(ushort, ushort, 0, USHRT_MAX)
METRONOME_SATURATE(ushort, int, 0, USHRT_MAX)
METRONOME_SATURATE(ushort, uint, 0, USHRT_MAX)
METRONOME_ROUNDED(ushort)
METRONOME_SATURATE_FLOAT(int, INT_MIN, INT_MAX)
METRONOME_SATURATE(int, char, CHAR_MIN, CHAR_MAX)
METRONOME_SATURATE(int, uchar, 0, UCHAR_MAX)
METRONOME_SATURATE(int, short, SHRT_MIN, SHRT_MAX)
METRONOME_SATURATE(int, ushort, 0, USHRT_MAX)
METRONOME_SATURATE(int, int, INT_MIN, INT_MAX)
METRONOME_SATURATE(int, uint, 0, INT_MAX)
METRONOME_ROUNDED(int)
METRONOME_SATURATE_FLOAT(uint, 0, UINT_MAX)
METRONOME_SATURATE(uint, char, 0, CHAR_MAX)
METRONOME_SATURATE(uint, uchar, 0, UCHAR_MAX)
METRONOME_SATURATE(uint, short, 0, SHRT_MAX)
METRONOME_SATURATE(uint, ushort, 0, USHRT_MAX)
METRONOME_SATURATE(uint, int, 0, INT_MAX)
METRONOME_SATURATE(uint, uint, 0, UINT_MAX)
METRONOME_ROUNDED(uint)

#endif
