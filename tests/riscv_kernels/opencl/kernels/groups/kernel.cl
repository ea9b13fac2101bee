void exchange(__local int *cells, int from, int to)
{
    const int value = cells[from];
    barrier(CLK_LOCAL_MEM_FENCE);
    cells[to] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
}

__kernel void groups(__global int *out, __global const int *turns, __local int *cells, int skip)
{
    const int lane = get_local_id(0), size = get_local_size(0), group = get_group_id(0);
    if (group == skip)
        return;
    cells[lane] = get_global_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (group & 1) {
        for (int turn = 0; turn < turns[group]; turn++)
            exchange(cells, lane, (lane + 1) % size);
    } else {
        exchange(cells, lane, size - 1 - lane);
        if (lane == 0 && turns[group] > 2)
            cells[0] += 1000;
    }
    int sum = 0;
    for (int i = 0; i < size; i++) {
        if (cells[i] % 3 == lane % 3)
            continue;
        sum += cells[i] * (i + 1);
        if (sum > 500)
            break;
    }
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = sum;
}
