/* The built-in types and functions of OpenCL C 1.2, as far as the machine goes (docs/opencl.md).
 *
 * Every .cl source is compiled with this header before it. Names that begin with METRONOME or __metronome are ours.
 */
#ifndef METRONOME_OPENCL_BUILTINS_H
#define METRONOME_OPENCL_BUILTINS_H

#pragma clang system_header

#include "types.h"
#include "widen.h"
#include "workitem.h"
#include "math_builtins.h"
#include "more_math.h"
#include "remainders.h"
#include "pointers.h"
#include "common.h"
#include "integers.h"
#include "relations.h"
#include "conversions.h"
#include "vectors_in_memory.h"
#include "shuffle.h"
#include "halves.h"
#include "refused.h"

int printf(__constant const char *format, ...) __asm__("__metronome_printf") __attribute__((format(printf, 1, 2)));

#endif
