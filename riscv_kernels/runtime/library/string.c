/* string.h. */
#include "string.h"

#include "metronome.h"
#include "names.h"

/* Whole words where both places are aligned, then single bytes. */
WEAK void *memcpy(void *target, const void *source, size_t bytes)
{
    const uint32_t aligned = (((uint32_t)target | (uint32_t)source) & 3) == 0;
    const size_t whole = aligned ? bytes & ~3u : 0;
    char *to = target;
    const char *from = source;
    const char *const words_end = from + whole;
    const char *const end = from + bytes;
    SIMT_WHILE(from != words_end) {
        *(uint32_t *)to = *(const uint32_t *)from;
        to += 4;
        from += 4;
    } SIMT_ENDWHILE
    SIMT_WHILE(from != end) {
        *to++ = *from++;
    } SIMT_ENDWHILE
    return target;
}

WEAK void *memset(void *target, int value, size_t bytes)
{
    const size_t whole = ((uint32_t)target & 3) == 0 ? bytes & ~3u : 0;
    const uint32_t word = (uint8_t)value * 0x01010101u;
    char *to = target;
    char *const words_end = to + whole;
    char *const end = to + bytes;
    SIMT_WHILE(to != words_end) {
        *(uint32_t *)to = word;
        to += 4;
    } SIMT_ENDWHILE
    SIMT_WHILE(to != end) {
        *to++ = (char)value;
    } SIMT_ENDWHILE
    return target;
}

/* From the end that the other area does not cover. */
WEAK void *memmove(void *target, const void *source, size_t bytes)
{
    const uint32_t forward = (uint32_t)target <= (uint32_t)source;
    const int32_t step = forward ? 1 : -1;
    const size_t first = forward ? 0 : bytes - 1;
    char *to = (char *)target + first;
    const char *from = (const char *)source + first;
    SIMT_WHILE(bytes != 0) {
        *to = *from;
        to += step;
        from += step;
        bytes -= 1;
    } SIMT_ENDWHILE
    return target;
}

WEAK int memcmp(const void *a, const void *b, size_t bytes)
{
    const uint8_t *left = a;
    const uint8_t *right = b;
    int difference = 0;
    SIMT_WHILE((bytes != 0) & (difference == 0)) {
        difference = *left++ - *right++;
        bytes -= 1;
    } SIMT_ENDWHILE
    return difference;
}

WEAK size_t strlen(const char *text)
{
    const char *end = text;
    SIMT_WHILE(*end != 0) {
        end += 1;
    } SIMT_ENDWHILE
    return (size_t)(end - text);
}

WEAK int strcmp(const char *a, const char *b)
{
    uint8_t left, right;
    uint32_t equal = 1;
    int difference = 0;
    SIMT_WHILE(equal) {
        left = (uint8_t)*a++;
        right = (uint8_t)*b++;
        difference = left - right;
        equal = (difference == 0) & (left != 0);
    } SIMT_ENDWHILE
    return difference;
}

WEAK char *strcpy(char *target, const char *source)
{
    char *to = target;
    char last = 1;
    SIMT_WHILE(last != 0) {
        last = *source++;
        *to++ = last;
    } SIMT_ENDWHILE
    return target;
}
