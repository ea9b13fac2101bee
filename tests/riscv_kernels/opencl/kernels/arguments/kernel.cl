typedef struct {
    char small;
    int numbers[3];
    float last;
} settings_t;

__kernel void arguments(uchar a, short b, ulong c, float4 d, int3 e, settings_t f, __global int *out, char2 g,
                        __constant int *h, float i, uint8 j, __local int *k, __local int *l, long m)
{
    const int place = get_global_id(0);
    k[get_local_id(0)] = place;
    l[get_local_id(0)] = 2 * place;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int next = (get_local_id(0) + 1) % get_local_size(0);
    int sum = a + b + (int)(c >> 32) + (int)c + e.x + e.y * 2 + e.z * 3 + f.small + f.numbers[place % 3] + g.x - g.y;
    sum += h[1] + j.s0 + j.s7 + (int)m + (int)(d.x + d.y + d.z + d.w + f.last + i);
    out[place] = sum + k[next] + l[next];
}
