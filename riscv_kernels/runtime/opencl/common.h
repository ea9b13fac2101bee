/* Common and geometric functions. */
#ifndef METRONOME_OPENCL_COMMON_H
#define METRONOME_OPENCL_COMMON_H

METRONOME_CL float clamp(float x, float low, float high) { return fmin(fmax(x, low), high); }
METRONOME_WIDEN3(float, clamp)
METRONOME_MATH2(max, __builtin_fmaxf(x, y))
METRONOME_MATH2(min, __builtin_fminf(x, y))
METRONOME_MATH2(step, y < x ? 0.0f : 1.0f)
METRONOME_MATH1(degrees, x * 57.29577951308232f)
METRONOME_MATH1(radians, x * 0.017453292519943295f)
METRONOME_MATH1(sign, x > 0 ? 1.0f : x < 0 ? -1.0f : x == 0 ? x : 0.0f)
METRONOME_CL float mix(float x, float y, float a) { return x + (y - x) * a; }
METRONOME_WIDEN3(float, mix)
METRONOME_CL float smoothstep(float low, float high, float x)
{
    const float t = clamp((x - low) / (high - low), 0.0f, 1.0f);
    return t * t * (3.0f - 2.0f * t);
}
METRONOME_WIDEN3(float, smoothstep)

#define METRONOME_COMMON(type, vector)                                                                              \
    METRONOME_CL vector clamp(vector x, type low, type high) { return clamp(x, (vector)low, (vector)high); }         \
    METRONOME_CL vector max(vector x, type y) { return max(x, (vector)y); }                                          \
    METRONOME_CL vector min(vector x, type y) { return min(x, (vector)y); }                                          \
    METRONOME_CL vector step(type edge, vector x) { return step((vector)edge, x); }                                  \
    METRONOME_CL vector mix(vector x, vector y, type a) { return mix(x, y, (vector)a); }                             \
    METRONOME_CL vector smoothstep(type low, type high, vector x) { return smoothstep((vector)low, (vector)high, x); }
METRONOME_EACH_WIDTH(METRONOME_COMMON, float)

/* Sums from the first element to the last one. */
METRONOME_CL float dot(float x, float y) { return x * y; }
METRONOME_CL float dot(float2 x, float2 y) { return fma(x.y, y.y, x.x * y.x); }
METRONOME_CL float dot(float3 x, float3 y) { return fma(x.z, y.z, fma(x.y, y.y, x.x * y.x)); }
METRONOME_CL float dot(float4 x, float4 y) { return fma(x.w, y.w, fma(x.z, y.z, fma(x.y, y.y, x.x * y.x))); }
METRONOME_CL float3 cross(float3 x, float3 y) { return x.yzx * y.zxy - x.zxy * y.yzx; }
METRONOME_CL float4 cross(float4 x, float4 y) { return (float4)(cross(x.xyz, y.xyz), 0.0f); }

/* Without overflow: `scale` is a power of two. */
#define METRONOME_GEOMETRY(type)                                                                                   \
    METRONOME_CL float length(type x)                                                                              \
    {                                                                                                              \
        const float sum = dot(x, x);                                                                               \
        const float scale = sum > 0x1p120f ? 0x1p-70f : sum < 0x1p-100f ? 0x1p75f : 1.0f;                          \
        const type scaled = x * scale;                                                                             \
        return sqrt(dot(scaled, scaled)) / scale;                                                                  \
    }                                                                                                              \
    METRONOME_CL float distance(type x, type y) { return length(x - y); }                                          \
    METRONOME_CL type normalize(type x)                                                                            \
    {                                                                                                              \
        const float size = length(x);                                                                              \
        return size > 0 ? x / size : x;                                                                            \
    }                                                                                                              \
    METRONOME_CL float fast_length(type x) { return sqrt(dot(x, x)); }                                             \
    METRONOME_CL float fast_distance(type x, type y) { return fast_length(x - y); }                                \
    METRONOME_CL type fast_normalize(type x) { return x * rsqrt(dot(x, x)); }
METRONOME_GEOMETRY(float)
METRONOME_GEOMETRY(float2)
METRONOME_GEOMETRY(float3)
METRONOME_GEOMETRY(float4)

#endif
