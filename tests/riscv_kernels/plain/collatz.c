#include "plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    uint32_t number = index * 7 + 1, steps = 0, largest = number;
    while (number != 1) {
        if (number % 2)
            number = 3 * number + 1;
        else
            number /= 2;
        if (number > largest)
            largest = number;
        steps++;
    }
    out[0] = steps;
    out[1] = largest;
}
