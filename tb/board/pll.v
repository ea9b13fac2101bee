// The ECP5's PLL in a simulated board: the clock of the pin is the machine's own. A cycle of the pin is thus a cycle of
// the machine, and nothing in the simulation depends on the frequency. It locks after some cycles, as a real one does.
//
// The ports are those that hdl/board/ulx3s.py connects.

module EHXPLLL #(
  parameter PLLRST_ENA = "DISABLED", INTFB_WAKE = "DISABLED", STDBY_ENABLE = "DISABLED", DPHASE_SOURCE = "DISABLED",
  parameter OUTDIVIDER_MUXA = "DIVA", OUTDIVIDER_MUXB = "DIVB", FEEDBK_PATH = "CLKOP",
  parameter CLKOP_ENABLE = "ENABLED", CLKOS_ENABLE = "DISABLED",
  parameter CLKI_DIV = 1, CLKFB_DIV = 1,
  parameter CLKOP_DIV = 8, CLKOP_CPHASE = 0, CLKOP_FPHASE = 0,
  parameter CLKOS_DIV = 8, CLKOS_CPHASE = 0, CLKOS_FPHASE = 0
) (
  input CLKI,                // the clock of the pin
  input CLKFB,               // the feedback, which is ignored here
  input RST, STDBY,          // not modelled
  input PHASESEL0, PHASESEL1, PHASEDIR, PHASESTEP, PHASELOADREG,  // not modelled
  input PLLWAKESYNC, ENCLKOP, ENCLKOS,                            // not modelled
  output CLKOP, CLKOS,       // two clocks
  output LOCK                // both are stable
);
  reg [3:0] count = 0;
  always @(posedge CLKI) if (!LOCK) count <= count + 1;
  assign CLKOP = CLKI;
  assign CLKOS = CLKI;
  assign LOCK = &count;
endmodule
