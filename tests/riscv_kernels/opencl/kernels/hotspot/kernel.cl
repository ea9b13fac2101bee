#define IN(value, low, high) ((value) >= (low) && (value) <= (high))

/* A group reads a block and computes what does not depend on others' cells. */
__kernel void hotspot(int steps, __global const float *power, __global const float *from, __global float *to, int size,
                      float rate)
{
    __local float now[BLOCK][BLOCK], next[BLOCK][BLOCK];
    const int tx = get_local_id(0), ty = get_local_id(1);
    const int inner = BLOCK - 2 * steps;
    const int row = inner * (int)get_group_id(1) - steps + ty, column = inner * (int)get_group_id(0) - steps + tx;
    const int place = size * row + column;
    if (IN(row, 0, size - 1) && IN(column, 0, size - 1))
        now[ty][tx] = from[place];
    barrier(CLK_LOCAL_MEM_FENCE);

    const int valid_row = row >= 0 && row < size, valid_column = column >= 0 && column < size;
    const int north = row <= 0 ? ty : ty - 1, south = row >= size - 1 ? ty : ty + 1;
    const int west = column <= 0 ? tx : tx - 1, east = column >= size - 1 ? tx : tx + 1;
    bool computed = false;
    for (int i = 0; i < steps; i++) {
        computed = false;
        if (IN(tx, i + 1, BLOCK - i - 2) && IN(ty, i + 1, BLOCK - i - 2) && valid_row && valid_column) {
            computed = true;
            next[ty][tx] = now[ty][tx] + rate * (power[place] + now[south][tx] + now[north][tx] + now[ty][east]
                                                 + now[ty][west] - 4.0f * now[ty][tx]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i == steps - 1)
            break;
        if (computed)
            now[ty][tx] = next[ty][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (computed)
        to[place] = next[ty][tx];
}
