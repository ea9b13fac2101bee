/* The SIMT instructions as assembler macros (custom-0, isa.md). */
#ifndef METRONOME_SIMT_ASM_H
#define METRONOME_SIMT_ASM_H

#define TMC(mask)          .insn r 0x0B, 0, 0, x0, mask, x0
#define WSPAWN(count, pc)  .insn r 0x0B, 1, 0, x0, count, pc
#define BAR(id, count)     .insn r 0x0B, 4, 0, x0, id, count

#endif
