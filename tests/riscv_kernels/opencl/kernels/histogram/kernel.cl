#define BINS 8

/* Each work-item counts in a column of its own; the group adds the columns. */
__kernel void histogram(__global const uchar *values, __global uint *counts, uint count)
{
    __local ushort own[BINS][GROUP];
    const uint lane = get_local_id(0);
    for (int bin = 0; bin < BINS; bin++)
        own[bin][lane] = 0;
    for (uint i = lane; i < count; i += GROUP)
        own[values[i] % BINS][lane]++;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint bin = lane; bin < BINS; bin += GROUP) {
        uint sum = 0;
        for (int column = 0; column < GROUP; column++)
            sum += own[bin][column];
        counts[bin] = sum;
    }
}
