__kernel void volume(__global uint *out)
{
    const size_t x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    const size_t place = (z * get_global_size(1) + y) * get_global_size(0) + x;
    uint seen = get_work_dim();
    for (uint d = 0; d < 3; d++)
        seen = seen * 7 + get_local_size(d) + 3 * get_num_groups(d) + 5 * get_group_id(d) + get_local_id(d)
               + get_global_offset(d) + 2 * get_global_size(d);
    out[place] = seen;
}
