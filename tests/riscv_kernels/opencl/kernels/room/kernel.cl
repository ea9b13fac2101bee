/* So much local memory that few groups are resident; each fills all of its own, and sees nobody else's. */
__kernel void fill(__global uint *out, __local float16 *wide, __local uint *more)
{
    __local uint own[1000];
    __local ushort odd[3];
    const uint lane = get_local_id(0), size = get_local_size(0), group = get_group_id(0);
    for (uint i = lane; i < 1000; i += size)
        own[i] = group * 1000 + i;
    for (uint i = lane; i < 3; i += size)
        odd[i] = group + i;
    wide[lane] = (float16)(group + lane);
    more[lane] = group + 7;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = odd[0] + odd[1] + odd[2] + (uint)wide[size - 1 - lane].sf + more[size - 1 - lane];
    for (uint i = 0; i < 1000; i += 100)
        sum += own[i + lane];
    out[get_global_id(0)] = sum;
}

/* Groups of one work-item, that have local memory and a barrier all the same. */
__kernel void alone(__global uint *out)
{
    __local uint cell;
    cell = get_group_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    while (cell % 4)
        cell++;
    out[get_global_id(0)] = cell;
}
