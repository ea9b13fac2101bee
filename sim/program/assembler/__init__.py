"""An assembler and a disassembler in Python."""
