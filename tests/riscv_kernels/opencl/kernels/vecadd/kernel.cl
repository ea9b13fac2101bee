/* As many work-items as elements, in groups of the machine's choice. */
__kernel void vecadd(__global const int *a, __global const int *b, __global int *c)
{
    const int i = get_global_id(0);
    c[i] = a[i] + b[i];
}
