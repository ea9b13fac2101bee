#include "../plain/plain.h"

/* Uniform pointers to functions in divergent branches, returned from functions, in tables of structures. */
typedef struct { uint32_t (*f)(uint32_t); const char *name; } entry;
static uint32_t one(uint32_t x) { while (x > 9) x /= 3; return x; }
static uint32_t two(uint32_t x) { return x & 1 ? x * 2 : x + 7; }
static const entry entries[3] = {{one, "one"}, {two, "two"}, {0, 0}};
static uint32_t (*volatile current)(uint32_t) = two;
static void plain(uint32_t index, uint32_t *out)
{
    for (const entry *e = entries; e->f; e++)
        if (e->name[0] == 't' || index & 1) out[0] += e->f(index);
    if (index % 3 == 1) out[1] = current(index);
    for (uint32_t i = 0; i < 2; i++) { if (index % 5 == 2) continue; out[2] += entries[i].f(index + i); if (out[2] > 40) break; }
}
