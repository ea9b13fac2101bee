#include "plain.h"

static int find(const char *text, const char *wanted)
{
    for (const char *start = text; *start; start++) {
        for (int i = 0;; i++) {
            if (!wanted[i])
                return (int)(start - text);
            if (start[i] != wanted[i])
                break;
        }
    }
    return -1;
}

static void plain(uint32_t index, uint32_t *out)
{
    char text[40], wanted[4];
    uint32_t state = index;
    for (int i = 0; i < 39; i++)
        text[i] = (char)('a' + draw(&state) % 3);
    text[39] = 0;
    const uint32_t length = 1 + index % 3;
    for (uint32_t i = 0; i < length; i++)
        wanted[i] = (char)('a' + draw(&state) % 3);
    wanted[length] = 0;
    out[0] = (uint32_t)find(text, wanted);
    int place, all = 0;
    for (const char *at = text; (place = find(at, wanted)) >= 0; at += place + 1)
        all++;
    out[1] = (uint32_t)all;
}
