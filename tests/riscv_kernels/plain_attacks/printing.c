#include "../plain/plain.h"

#include "stdio.h"
static void plain(uint32_t index, uint32_t *out)
{
    char text[40] = "";
    if (index % 3 == 0) out[0] = (uint32_t)snprintf(text, sizeof text, "%u of %s", index, "three");
    else if (index % 3 == 1) out[0] = (uint32_t)snprintf(text, 9, "%08x%5d", index * 999, -(int)index);
    else for (uint32_t i = 0; i < index % 4; i++) out[0] += (uint32_t)snprintf(text + i, 20, "%c%02u", 'a' + (int)i, index);
    for (const char *p = text; *p; p++) out[1] = out[1] * 31 + (uint8_t)*p;
    out[2] = (uint32_t)strlen(text);
    if (index & 1) out[3] = strcmp(text, "3 of three") == 0 ? 2 : memcmp(text, "000", 3) == 0;
}
