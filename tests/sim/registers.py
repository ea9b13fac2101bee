"""Numbers of registers by their names in programs."""

RA, SP, T0, T1, T2, S0, A0, A1, A2, A3, A4, A5, A6 = 1, 2, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16
T3, T4, T5, T6 = 28, 29, 30, 31
