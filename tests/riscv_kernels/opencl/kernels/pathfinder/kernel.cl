#define INSIDE(x, low, high) ((x) >= (low) && (x) <= (high))

/* Each group computes a block that shrinks by a column on either side with every row: its neighbours do the rest. */
__kernel void pathfinder(int rows, __global const int *wall, __global const int *from, __global int *to, int columns,
                         int border, __local int *before, __local int *after)
{
    const int group_size = get_local_size(0), tx = get_local_id(0);
    const int useful = group_size - 2 * rows;
    const int first = useful * (int)get_group_id(0) - border, last = first + group_size - 1;
    const int x = first + tx;
    const int low = first < 0 ? -first : 0;
    const int high = last > columns - 1 ? group_size - 1 - (last - columns + 1) : group_size - 1;
    const int west = max(tx - 1, low), east = min(tx + 1, high);
    const bool valid = INSIDE(tx, low, high);

    if (INSIDE(x, 0, columns - 1))
        before[tx] = from[x];
    barrier(CLK_LOCAL_MEM_FENCE);
    bool computed = false;
    for (int i = 0; i < rows; i++) {
        computed = false;
        if (INSIDE(tx, i + 1, group_size - i - 2) && valid) {
            computed = true;
            int least = min(before[west], before[tx]);
            least = min(least, before[east]);
            after[tx] = least + wall[columns * i + x];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i == rows - 1)
            break;
        if (computed)
            before[tx] = after[tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (computed)
        to[x] = after[tx];
}
