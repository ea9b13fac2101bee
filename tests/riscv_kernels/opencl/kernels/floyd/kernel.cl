__kernel void floyd_step(__global uint *lengths, __global uint *via, const unsigned int width, const unsigned int pass)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const uint old = lengths[y * width + x];
    const uint other = lengths[y * width + pass] + lengths[pass * width + x];
    if (other < old) {
        lengths[y * width + x] = other;
        via[y * width + x] = pass;
    }
}
