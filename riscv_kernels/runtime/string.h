/* Memory and strings. Lanes may call these with different arguments. */
#ifndef METRONOME_STRING_H
#define METRONOME_STRING_H

#include <stddef.h>

/* By another name: the calls that the compiler makes by itself go to the smaller ones of runtime.c, whose lanes all have
 * the same number of bytes. */
void *memcpy(void *__target, const void *__source, size_t __bytes) __asm__("__metronome_lane_memcpy");
void *memset(void *__target, int __value, size_t __bytes) __asm__("__metronome_lane_memset");
void *memmove(void *__target, const void *__source, size_t __bytes);
int memcmp(const void *__a, const void *__b, size_t __bytes);
size_t strlen(const char *__text);
int strcmp(const char *__a, const char *__b);
char *strcpy(char *__target, const char *__source);

#endif
