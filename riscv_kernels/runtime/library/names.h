/* Names that no program can collide with. A function of C's library is weak: a program may define its own, whatever
 * it does. Every use within the runtime and by the built-in functions of OpenCL goes by the name with __metronome_.
 */
#ifndef METRONOME_NAMES_H
#define METRONOME_NAMES_H

#define WEAK __attribute__((weak))
/* After its definition. */
#define RESERVED_NAME(name) extern __typeof(name) __metronome_##name __attribute__((alias(#name)))

/* In a source of the library in which the compiler makes such calls by itself (memory.c). */
#define RESERVED_CALLS __asm__(".set memset, __metronome_memset\n.set memcpy, __metronome_memcpy")

#endif
