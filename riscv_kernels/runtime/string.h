/* Memory and strings. Lanes may call these with different arguments. */
#ifndef METRONOME_STRING_H
#define METRONOME_STRING_H

#include <stddef.h>

/* By another name: the calls that the compiler makes by itself go to the smaller ones of runtime.c, whose lanes all have
 * the same number of bytes. */
void *memcpy(void *target, const void *source, size_t bytes) __asm__("__metronome_lane_memcpy");
void *memset(void *target, int value, size_t bytes) __asm__("__metronome_lane_memset");
void *memmove(void *target, const void *source, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
char *strcpy(char *target, const char *source);

#endif
