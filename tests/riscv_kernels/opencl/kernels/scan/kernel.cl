/* Up and down a tree in local memory, two elements a work-item. */
__kernel void scan(__global int *values, __local int *tree)
{
    const int lane = get_local_id(0), count = 2 * get_local_size(0);
    __global int *block = values + get_group_id(0) * count;
    int offset = 1;

    tree[2 * lane] = block[2 * lane];
    tree[2 * lane + 1] = block[2 * lane + 1];
    for (int d = count >> 1; d > 0; d >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < d)
            tree[offset * (2 * lane + 2) - 1] += tree[offset * (2 * lane + 1) - 1];
        offset *= 2;
    }
    if (lane == 0)
        tree[count - 1] = 0;
    for (int d = 1; d < count; d *= 2) {
        offset >>= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < d) {
            const int left = offset * (2 * lane + 1) - 1, right = offset * (2 * lane + 2) - 1;
            const int value = tree[left];
            tree[left] = tree[right];
            tree[right] += value;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    block[2 * lane] = tree[2 * lane];
    block[2 * lane + 1] = tree[2 * lane + 1];
}
