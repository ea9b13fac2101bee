#define AT(row, column) score[(row) * (SIDE + 1) + (column)]

int best(int a, int b, int c)
{
    int k = a <= b ? b : a;
    if (k <= c)
        return c;
    return k;
}

__kernel void align(__global const int *similar, __global int *out, int penalty)
{
    __local int score[(SIDE + 1) * (SIDE + 1)];
    __local int own[SIDE][SIDE];
    const int tx = get_local_id(0);
    AT(0, tx + 1) = -penalty * (tx + 1);
    AT(tx + 1, 0) = -penalty * (tx + 1);
    if (tx == 0)
        AT(0, 0) = 0;
    for (int y = 0; y < SIDE; y++)
        own[y][tx] = similar[y * SIDE + tx];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int m = 0; m < SIDE; m++) {
        if (tx <= m) {
            const int x = tx + 1, y = m - tx + 1;
            AT(y, x) = best(AT(y - 1, x - 1) + own[y - 1][x - 1], AT(y, x - 1) - penalty, AT(y - 1, x) - penalty);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int m = SIDE - 2; m >= 0; m--) {
        if (tx <= m) {
            const int x = tx + SIDE - m, y = SIDE - tx;
            AT(y, x) = best(AT(y - 1, x - 1) + own[y - 1][x - 1], AT(y, x - 1) - penalty, AT(y - 1, x) - penalty);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int y = 0; y < SIDE; y++)
        out[y * SIDE + tx] = AT(y + 1, tx + 1);
}
