/* Functions that the compiler calls in the library's own sources (RESERVED_CALLS), for lanes with equal sizes. */
#include <stddef.h>

void *__metronome_memset(void *target, int value, size_t bytes);
void *__metronome_memcpy(void *target, const void *source, size_t bytes);

void *__metronome_memset(void *target, int value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((char *)target)[i] = (char)value;
    return target;
}

void *__metronome_memcpy(void *target, const void *source, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((char *)target)[i] = ((const char *)source)[i];
    return target;
}
