/* The addresses that software relies on (isa.md, "Memory map and launch"). A machine with others defines them for the
 * compiler: sim/program/compiler/elf_cache.py, from the fields of `MemoryMap` in hdl/config.py. The start is the linker's. */
#ifndef METRONOME_MEMORY_MAP_H
#define METRONOME_MEMORY_MAP_H

#ifndef MEMORY_CONSOLE
#define MEMORY_CONSOLE 0x40
#endif
#ifndef MEMORY_CONSOLE_BYTES
#define MEMORY_CONSOLE_BYTES 64
#endif
#ifndef MEMORY_EXIT_CODE
#define MEMORY_EXIT_CODE 0x88
#endif
#ifndef MEMORY_STACK_TOP
#define MEMORY_STACK_TOP 0xFFFF0000
#endif
#ifndef MEMORY_STACK_BYTES_PER_HART
#define MEMORY_STACK_BYTES_PER_HART 8192
#endif

#endif
