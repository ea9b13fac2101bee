#include "plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    uint8_t bytes[40], packed[80], again[40];
    uint32_t state = index, written = 0;
    const uint32_t count = index % 41;
    for (uint32_t i = 0; i < count; i++)
        bytes[i] = draw(&state) % 4 ? (uint8_t)(i ? bytes[i - 1] : 5) : (uint8_t)(draw(&state) % 6);
    for (uint32_t i = 0; i < count;) {
        uint32_t run = 1;
        while (i + run < count && bytes[i + run] == bytes[i] && run < 9)
            run++;
        packed[written++] = (uint8_t)run;
        packed[written++] = bytes[i];
        i += run;
    }
    uint32_t length = 0;
    for (uint32_t i = 0; i < written; i += 2)
        for (uint32_t n = packed[i]; n--;)
            again[length++] = packed[i + 1];
    out[0] = written;
    out[1] = length;
    for (uint32_t i = 0; i < written; i++)
        out[2] = out[2] * 31 + packed[i];
    for (uint32_t i = 0; i < count; i++)
        if (again[i] != bytes[i])
            out[3]++;
}
