__kernel void bitonic(__global uint *keys)
{
    __local uint block[2 * GROUP];
    const uint lane = get_local_id(0), first = get_group_id(0) * 2 * GROUP;
    block[lane] = keys[first + lane];
    block[lane + GROUP] = keys[first + lane + GROUP];

    for (uint size = 2; size <= 2 * GROUP; size <<= 1)
        for (uint stride = size / 2; stride > 0; stride >>= 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint low = 2 * lane - (lane & (stride - 1)), high = low + stride;
            const bool up = (low & size) == 0;
            if ((block[low] > block[high]) == up) {
                const uint key = block[low];
                block[low] = block[high];
                block[high] = key;
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    keys[first + lane] = block[lane];
    keys[first + lane + GROUP] = block[lane + GROUP];
}
