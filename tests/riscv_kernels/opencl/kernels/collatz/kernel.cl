uint length_of(uint n)
{
    uint steps = 0;
    for (;;) {
        if (n <= 1)
            return steps;
        n = n % 2 ? 3 * n + 1 : n / 2;
        if (++steps == 100)
            break;
    }
    return 100;
}

__kernel void collatz(__global uint *lengths)
{
    const uint i = get_global_id(0);
    uint best = 0;
    for (uint n = i; n < i + 3; n++) {
        if (n % 5 == 0)
            continue;
        best = max(best, length_of(n));
    }
    lengths[i] = best;
}
