/* Integer functions, a row of the result each: host.py has the same list. */
__kernel void integers(__global const int *a, __global const int *b, __global int *out, int n)
{
    const int i = get_global_id(0);
    const int x = a[i], y = b[i];
    const uint u = as_uint(x), v = as_uint(y);
    int row = 0;
    out[row++ * n + i] = min(x, y);
    out[row++ * n + i] = max(u, v);
    out[row++ * n + i] = abs(x);
    out[row++ * n + i] = abs_diff(x, y);
    out[row++ * n + i] = add_sat(x, y);
    out[row++ * n + i] = sub_sat(u, v);
    out[row++ * n + i] = hadd(x, y);
    out[row++ * n + i] = rhadd(u, v);
    out[row++ * n + i] = clamp(x, -1000, 1000);
    out[row++ * n + i] = mul_hi(x, y);
    out[row++ * n + i] = mul_hi(u, v);
    out[row++ * n + i] = mad24(x >> 20, y >> 20, 5) + mul24(u >> 20, v >> 20);
    out[row++ * n + i] = rotate(x, y & 31);
    out[row++ * n + i] = clz(x >> (y & 31)) + clz(0) + clz((uchar)1) + clz((short)-1);
    out[row++ * n + i] = popcount(x);
    out[row++ * n + i] = select(x, y, x > y);
    out[row++ * n + i] = bitselect(x, y, 0x0ff00ff0);
    out[row++ * n + i] = upsample((short)(x >> 16), (ushort)y);
    out[row++ * n + i] = (int)(((long)x * y) >> 13) + (int)(((ulong)u << 20) / (v | 1));
    out[row++ * n + i] = x / (y | 1) + x % (y | 1) + (int)(u / (v | 1));
    out[row++ * n + i] = add_sat((char)x, (char)y) + sub_sat((ushort)x, (ushort)y);
    out[row++ * n + i] = any((int2)(x, y)) + 2 * all((int4)(x, y, x, y)) + mad_hi(x, y, 7);
}
