/* From one type to another, a row of the result each. */
__kernel void conversions(__global const float *a, __global const int *b, __global int *out, int n)
{
    const int i = get_global_id(0);
    const float x = a[i];
    const int y = b[i];
    int row = 0;
    out[row++ * n + i] = convert_int(x);
    out[row++ * n + i] = convert_int_rte(x);
    out[row++ * n + i] = convert_int_rtp(x);
    out[row++ * n + i] = convert_int_rtn(x);
    out[row++ * n + i] = convert_uchar_sat(x);
    out[row++ * n + i] = convert_char_sat_rte(x);
    out[row++ * n + i] = convert_short_sat(y);
    out[row++ * n + i] = convert_uint_sat(y);
    out[row++ * n + i] = convert_uchar_sat(y);
    out[row++ * n + i] = convert_int_sat(x * 1e30f);
    out[row++ * n + i] = as_int(convert_float(y));
    out[row++ * n + i] = as_int(convert_float((uint)y));
    out[row++ * n + i] = as_int(as_uchar4(y).zyxw);
    out[row++ * n + i] = convert_char(y) + convert_ushort(y);
    out[row++ * n + i] = convert_uchar4_sat((float4)(x, -x, x * 4, 7.0f)).s2;
    out[row++ * n + i] = as_int(x) ^ as_int((float)(y > 0));
}
