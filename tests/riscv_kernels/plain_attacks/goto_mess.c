#include "../plain/plain.h"

static void plain(uint32_t index, uint32_t *out)
{
    uint32_t s = index, n = 0; int i = 0;
    if (index & 1) goto middle;
top:
    out[0]++;
    if (n++ > 40) goto end;
    switch (draw(&s) % 5) {
    case 0: goto middle;
    case 1: goto bottom;
    case 2: goto top;
    case 3: goto deep;
    }
    for (i = 0; i < 5; i++) {
        out[1] += 2;
        if (draw(&s) % 3 == 0) goto middle;
deep:
        out[1]++;
        if (n++ > 40) goto end;
        if (draw(&s) % 4 == 0) goto bottom;
    }
middle:
    out[2]++;
    if (n++ > 40) goto end;
    if (draw(&s) % 3) goto top;
bottom:
    out[3]++;
    if (n++ < 40) { if (draw(&s) & 1) goto deep; else goto middle; }
end:
    out[0] += n << 16;
}
