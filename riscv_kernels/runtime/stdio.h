/* Text on the console.
 *
 * Every active lane prints by itself, in ascending order, and every warp has its own line on the console: lines
 * of lanes and warps stay whole, if each ends with a newline. A line of several calls stays whole inside SIMT_ONE_BY_ONE
 * (metronome.h). The order of the warps' lines is that of their newlines.
 *
 * Conversions: d i u x X o p c s n % and f F e E g G a A; flags - 0 + # and space, width, precision, * for either;
 * h hh l ll z t j L. Floating-point arguments are rounded to float, since the machine has no double. A precision of a e f g
 * above 149 counts as 149, where the digits of every float end. Others, which C does not have, are printed as they stand.
 * The compiler warns of an argument that does not fit. Wide characters (lc, ls) are not converted: they print as bytes.
 */
#ifndef METRONOME_STDIO_H
#define METRONOME_STDIO_H

#include <stdarg.h>
#include <stddef.h>

int printf(const char *__format, ...) __attribute__((__format__(__printf__, 1, 2)));
int vprintf(const char *__format, va_list __arguments) __attribute__((__format__(__printf__, 1, 0)));
int snprintf(char *__target, size_t __bytes, const char *__format, ...) __attribute__((__format__(__printf__, 3, 4)));
int vsnprintf(char *__target, size_t __bytes, const char *__format, va_list __arguments)
    __attribute__((__format__(__printf__, 3, 0)));
int puts(const char *__text);
int putchar(int __character);

#endif
