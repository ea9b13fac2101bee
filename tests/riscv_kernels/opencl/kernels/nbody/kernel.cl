/* x, y, z and mass; the bodies pass through local memory, a group's worth at a time. */
__kernel void nbody(__global const float4 *bodies, __global float4 *speeds, int count, float step, float soft,
                    __local float4 *shared)
{
    const int i = get_global_id(0), lane = get_local_id(0), group = get_local_size(0);
    const float4 own = bodies[i];
    float4 force = (float4)(0.0f);
    for (int first = 0; first < count; first += group) {
        shared[lane] = bodies[first + lane];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < group; j++) {
            const float4 other = shared[j];
            float4 away = other - own;
            away.w = 0.0f;
            const float inverse = rsqrt(dot(away, away) + soft);
            force += other.w * inverse * inverse * inverse * away;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    speeds[i] += step * force;
}
