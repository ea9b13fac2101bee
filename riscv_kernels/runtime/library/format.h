/* Between printf and the conversion of floats: one lane at a time, so any branch is right here. */
#ifndef METRONOME_FORMAT_H
#define METRONOME_FORMAT_H

#include <stdint.h>

/* Where characters go: into `target`, as many as `room`, or to the console if it is null. All are counted. */
typedef struct {
    char *target;
    uint32_t room;
    uint32_t count;
} text_sink;

typedef struct {
    uint32_t left, zeros, plus, space, alternative; /* flags - 0 + space # */
    uint32_t quad;                                  /* L */
    int32_t elements;                               /* of a vector (v4); 0: none */
    int32_t width;
    int32_t precision; /* negative: not given */
    char conversion;
} text_format;

void __text_put(text_sink *sink, char character);
/* `prefix` (a sign, 0x), `zeros` zeros, or more up to the width if the flag 0 is set, then `length` characters. */
void __text_field(text_sink *sink, const text_format *format, const char *prefix, const char *text, uint32_t length,
                  uint32_t zeros);
/* a, e, f or g of the float with these bits. */
void __text_float(text_sink *sink, const text_format *format, uint32_t bits);
/* The bits of the nearest float, ties to even. */
uint32_t __float_of_double(double value);
uint32_t __float_of_quad(long double value);

#endif
