#include "../plain/plain.h"

#include <stdarg.h>
static __attribute__((noinline)) uint32_t sum(const char *kinds, ...)
{
    va_list list;
    uint32_t r = 0;
    va_start(list, kinds);
    for (; *kinds; kinds++) {
        switch (*kinds) {
        case 'u': r += va_arg(list, uint32_t); break;
        case 'l': { uint64_t x = va_arg(list, uint64_t); r ^= (uint32_t)(x >> 32) + (uint32_t)x; break; }
        case 'x': va_end(list); return r;
        default: r *= 3; continue;
        }
        r++;
    }
    va_end(list);
    return r;
}
static void plain(uint32_t index, uint32_t *out)
{
    static const char *const kinds[] = {"uulu", "lluu", "uxuu", "u3lu", ""};
    out[0] = index % 5 == 0 ? sum("uulu", index, 2u, (uint64_t)index << 30, 5u)
        : index % 5 == 1 ? sum("lluu", (uint64_t)index << 31, 77ull, 5u, index) : sum(kinds[2], index, index, 3u, 4u);
    if (index & 1)
        out[1] = sum(index & 2 ? "u3u" : "uuu", 1u, index, 3u);
}
