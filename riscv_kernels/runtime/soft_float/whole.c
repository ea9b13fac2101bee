/* Roundings to a whole number that are one instruction, or a few, with F. The others are in library/round.c. */
#include "soft.h"

float __metronome_rintf(float x);
float __metronome_roundf(float x);
float roundevenf(float x);
long lrintf(float x);
long lroundf(float x);

float roundevenf(float x) { return __metronome_rintf(x); }
long lrintf(float x) { return (long)__metronome_rintf(x); }
long lroundf(float x) { return (long)__metronome_roundf(x); }
