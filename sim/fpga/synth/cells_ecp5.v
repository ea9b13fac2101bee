// Cells of the Lattice ECP5 for simulation of which Yosys has only the ports: DP16KD and MULT18X18D. The others (LUT4,
// CCU2C, TRELLIS_FF, TRELLIS_DPR16X4, ...) are Yosys' own models; sim/fpga/synth/netlist.py puts these behind them.
//
// Sources: FPGA-TN-02204, ECP5 and ECP5-5G Memory Usage Guide (modes, widths, byte enables); FPGA-TN-02205, ECP5 and
// ECP5-5G sysDSP Usage Guide; and what of them Yosys relies on, in share/lattice/brams_16kd.txt, brams_map_16kd.v and
// dsp_map_18x18.v of its wheel. What is not modelled stops the simulation when it begins.

// One port of a block RAM: what it writes, and what it takes as its output.
//
// The memory has 1024 rows of 18 bits: two bytes of 9, the upper bit of each is there only at a width of 9 and more.
// A row of 36 bits is two of them.
module metronome_dp16kd_port #(
  parameter WIDTH = 18,
  parameter WRITEMODE = "NORMAL"
) (
  input [13:0] address,
  input enable, write, reset,
  input [35:0] data,        // at the cell's pins, from bit 0 on
  input [35:0] row,         // of the memory, at this address; up to a width of 18 its lower half
  input [35:0] taken,       // of its bits, those that the other port writes in this cycle
  output [35:0] mask,       // of the row's bits, those that this port writes in this cycle
  output [35:0] stored,     // what it writes there
  output latch,             // the output changes
  output [35:0] result      // to this
);
  // The place of the word in the row of 18, and its bits.
  wire [4:0] place = WIDTH >= 18 ? 5'd0 :
      (address[3] ? 5'd9 : 5'd0) +
      (WIDTH == 4 ? {2'b0, address[2], 2'b0} : WIDTH == 2 ? {2'b0, address[2:1], 1'b0} :
       WIDTH == 1 ? {2'b0, address[2:0]} : 5'd0);
  localparam [35:0] BITS = WIDTH == 36 ? 36'hfffffffff : (36'd1 << WIDTH) - 1;
  // At 18 and 36 bits the lowest address pins are the byte enables.
  wire [35:0] bytes = WIDTH == 36 ? {{9{address[3]}}, {9{address[2]}}, {9{address[1]}}, {9{address[0]}}} :
                      WIDTH == 18 ? {18'b0, {9{address[1]}}, {9{address[0]}}} : BITS;
  // A reset of the output holds writes off (Yosys: block_wr), and needs no enable (ungated).
  assign mask = enable && write && !reset ? (bytes & BITS) << place : 36'd0;
  assign stored = (data & BITS) << place;
  assign latch = reset || enable && (!write || WRITEMODE != "NORMAL");
  // Nothing is said of a bit that is written and read at once through two ports: it is read as what is surely wrong
  // for whoever counts on the old value, and wrong half of the time for whoever counts on the new one.
  wire [35:0] read = (WRITEMODE == "WRITETHROUGH" ? (row & ~mask) | (stored & mask) : row) ^ taken;
  assign result = reset ? 36'd0 : (read >> place) & BITS;
endmodule

module DP16KD (
  input DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1,
    DIA0,
  input ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0,
  input CEA, OCEA, CLKA, WEA, RSTA, CSA2, CSA1, CSA0,
  output DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1,
    DOA0,
  input DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1,
    DIB0,
  input ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0,
  input CEB, OCEB, CLKB, WEB, RSTB, CSB2, CSB1, CSB0,
  output DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1,
    DOB0
);
  parameter DATA_WIDTH_A = 18, DATA_WIDTH_B = 18;
  parameter REGMODE_A = "NOREG", REGMODE_B = "NOREG";
  parameter RESETMODE = "SYNC", ASYNC_RESET_RELEASE = "SYNC";
  parameter CSDECODE_A = "0b000", CSDECODE_B = "0b000";
  parameter WRITEMODE_A = "NORMAL", WRITEMODE_B = "NORMAL";
  parameter CLKAMUX = "CLKA", CLKBMUX = "CLKB";
  parameter GSR = "ENABLED";
  parameter [319:0] INITVAL_00 = 0, INITVAL_01 = 0, INITVAL_02 = 0, INITVAL_03 = 0;
  parameter [319:0] INITVAL_04 = 0, INITVAL_05 = 0, INITVAL_06 = 0, INITVAL_07 = 0;
  parameter [319:0] INITVAL_08 = 0, INITVAL_09 = 0, INITVAL_0A = 0, INITVAL_0B = 0;
  parameter [319:0] INITVAL_0C = 0, INITVAL_0D = 0, INITVAL_0E = 0, INITVAL_0F = 0;
  parameter [319:0] INITVAL_10 = 0, INITVAL_11 = 0, INITVAL_12 = 0, INITVAL_13 = 0;
  parameter [319:0] INITVAL_14 = 0, INITVAL_15 = 0, INITVAL_16 = 0, INITVAL_17 = 0;
  parameter [319:0] INITVAL_18 = 0, INITVAL_19 = 0, INITVAL_1A = 0, INITVAL_1B = 0;
  parameter [319:0] INITVAL_1C = 0, INITVAL_1D = 0, INITVAL_1E = 0, INITVAL_1F = 0;
  parameter [319:0] INITVAL_20 = 0, INITVAL_21 = 0, INITVAL_22 = 0, INITVAL_23 = 0;
  parameter [319:0] INITVAL_24 = 0, INITVAL_25 = 0, INITVAL_26 = 0, INITVAL_27 = 0;
  parameter [319:0] INITVAL_28 = 0, INITVAL_29 = 0, INITVAL_2A = 0, INITVAL_2B = 0;
  parameter [319:0] INITVAL_2C = 0, INITVAL_2D = 0, INITVAL_2E = 0, INITVAL_2F = 0;
  parameter [319:0] INITVAL_30 = 0, INITVAL_31 = 0, INITVAL_32 = 0, INITVAL_33 = 0;
  parameter [319:0] INITVAL_34 = 0, INITVAL_35 = 0, INITVAL_36 = 0, INITVAL_37 = 0;
  parameter [319:0] INITVAL_38 = 0, INITVAL_39 = 0, INITVAL_3A = 0, INITVAL_3B = 0;
  parameter [319:0] INITVAL_3C = 0, INITVAL_3D = 0, INITVAL_3E = 0, INITVAL_3F = 0;

  localparam [64*320-1:0] INIT = {INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C, INITVAL_3B, INITVAL_3A, INITVAL_39,
    INITVAL_38, INITVAL_37, INITVAL_36, INITVAL_35, INITVAL_34, INITVAL_33, INITVAL_32, INITVAL_31, INITVAL_30,
    INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C, INITVAL_2B, INITVAL_2A, INITVAL_29, INITVAL_28, INITVAL_27,
    INITVAL_26, INITVAL_25, INITVAL_24, INITVAL_23, INITVAL_22, INITVAL_21, INITVAL_20, INITVAL_1F, INITVAL_1E,
    INITVAL_1D, INITVAL_1C, INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18, INITVAL_17, INITVAL_16, INITVAL_15,
    INITVAL_14, INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10, INITVAL_0F, INITVAL_0E, INITVAL_0D, INITVAL_0C,
    INITVAL_0B, INITVAL_0A, INITVAL_09, INITVAL_08, INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04, INITVAL_03,
    INITVAL_02, INITVAL_01, INITVAL_00};

  reg [17:0] memory [0:1023];
  integer row;
  initial begin
    out_a = 0;
    out_b = 0;
    // Each row has 20 bits in the parameters, of which the upper two mean nothing.
    for (row = 0; row < 1024; row = row + 1) memory[row] = INIT[20 * row +: 18];
    if (REGMODE_A != "NOREG" || REGMODE_B != "NOREG") $fatal(1, "DP16KD: the output register is not modelled");
    if (CSDECODE_A != "0b000" || CSDECODE_B != "0b000") $fatal(1, "DP16KD: CSDECODE is not modelled");
    if (DATA_WIDTH_B == 36 && DATA_WIDTH_A != 36) $fatal(1, "DP16KD: port B alone has 36 bits");
  end

  wire [13:0] ada = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
  wire [13:0] adb = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
  wire [17:0] dia = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3,
    DIA2, DIA1, DIA0};
  wire [17:0] dib = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3,
    DIB2, DIB1, DIB0};
  wire enable_a = CEA && !CSA2 && !CSA1 && !CSA0;
  wire enable_b = CEB && !CSB2 && !CSB1 && !CSB0;
  wire clock_a = CLKAMUX == "INV" ? !CLKA : CLKA;
  wire clock_b = CLKBMUX == "INV" ? !CLKB : CLKB;

  // At 36 bits port A writes and port B reads, each with the data pins of both.
  localparam WIDE = DATA_WIDTH_A == 36;
  wire [9:0] row_a = WIDE ? {ada[13:5], 1'b0} : ada[13:4];
  wire [9:0] row_b = DATA_WIDTH_B == 36 ? {adb[13:5], 1'b0} : adb[13:4];
  wire [35:0] mask_a, mask_b, stored_a, result_a, result_b;
  wire latch_a, latch_b;
  reg [35:0] out_a, out_b;

  // What port A writes of the two rows that port B reads.
  wire [35:0] taken = {
      (row_a == (row_b | 10'd1) ? mask_a[17:0] : 18'd0) | (WIDE && row_a == row_b ? mask_a[35:18] : 18'd0),
      (row_a == row_b ? mask_a[17:0] : 18'd0) | (WIDE && (row_a | 10'd1) == row_b ? mask_a[35:18] : 18'd0)};

  metronome_dp16kd_port #(.WIDTH(DATA_WIDTH_A), .WRITEMODE(WRITEMODE_A)) port_a (
    .address(ada), .enable(enable_a), .write(WEA), .reset(RSTA), .data({dib, dia}),
    .row({memory[row_a | 10'd1], memory[row_a]}), .taken(36'd0), .mask(mask_a),
    .stored(stored_a), .latch(latch_a), .result(result_a));
  metronome_dp16kd_port #(.WIDTH(DATA_WIDTH_B), .WRITEMODE(WRITEMODE_B)) port_b (
    .address(adb), .enable(enable_b), .write(WEB), .reset(RSTB), .data({18'd0, dib}),
    .row({memory[row_b | 10'd1], memory[row_b]}), .taken(taken),
    .mask(mask_b), .stored(), .latch(latch_b), .result(result_b));

  integer column;
  always @(posedge clock_a) begin
    if (RESETMODE != "SYNC" && RSTA) $fatal(1, "DP16KD: the asynchronous reset is not modelled");
    if (latch_a) out_a <= result_a;
    for (column = 0; column < 18; column = column + 1) begin
      if (mask_a[column]) memory[row_a][column] <= stored_a[column];
      if (WIDE && mask_a[18 + column]) memory[row_a | 10'd1][column] <= stored_a[18 + column];
    end
  end
  always @(posedge clock_b) begin
    if (RESETMODE != "SYNC" && RSTB) $fatal(1, "DP16KD: the asynchronous reset is not modelled");
    if (mask_b != 0) $fatal(1, "DP16KD: writes through port B are not modelled");
    if (latch_b) out_b <= result_b;
  end

  // Port B's wide word begins at DOA, as Yosys has it.
  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2,
    DOA1, DOA0} =
      DATA_WIDTH_B == 36 ? out_b[17:0] : out_a[17:0];
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2,
    DOB1, DOB0} =
      DATA_WIDTH_B == 36 ? out_b[35:18] : out_b[17:0];
endmodule

// A multiplier without its registers: the product of two numbers of 18 bits, each signed or not.
module MULT18X18D (
  input A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0,
  input B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0,
  input C17, C16, C15, C14, C13, C12, C11, C10, C9, C8, C7, C6, C5, C4, C3, C2, C1, C0,
  input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
  input CLK3, CLK2, CLK1, CLK0, CE3, CE2, CE1, CE0, RST3, RST2, RST1, RST0,
  output P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18, P17, P16, P15, P14,
    P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0
);
  parameter REG_INPUTA_CLK = "NONE", REG_INPUTA_CE = "CE0", REG_INPUTA_RST = "RST0";
  parameter REG_INPUTB_CLK = "NONE", REG_INPUTB_CE = "CE0", REG_INPUTB_RST = "RST0";
  parameter REG_INPUTC_CLK = "NONE", REG_INPUTC_CE = "CE0", REG_INPUTC_RST = "RST0";
  parameter REG_PIPELINE_CLK = "NONE", REG_PIPELINE_CE = "CE0", REG_PIPELINE_RST = "RST0";
  parameter REG_OUTPUT_CLK = "NONE", REG_OUTPUT_CE = "CE0", REG_OUTPUT_RST = "RST0";
  parameter CLK0_DIV = "ENABLED", CLK1_DIV = "ENABLED", CLK2_DIV = "ENABLED", CLK3_DIV = "ENABLED";
  parameter GSR = "ENABLED", SOURCEB_MODE = "B_SHIFT", MULT_BYPASS = "DISABLED", RESETMODE = "SYNC";

  initial begin
    if (REG_INPUTA_CLK != "NONE" || REG_INPUTB_CLK != "NONE" || REG_PIPELINE_CLK != "NONE" ||
        REG_OUTPUT_CLK != "NONE")
      $fatal(1, "MULT18X18D: the registers are not modelled");
    if (MULT_BYPASS != "DISABLED") $fatal(1, "MULT18X18D: the bypass is not modelled");
  end

  wire [17:0] a = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
  wire [17:0] b = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};
  wire signed [36:0] product = $signed({SIGNEDA && a[17], a}) * $signed({SIGNEDB && b[17], b});
  assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18, P17, P16, P15,
    P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} = product[35:0];
endmodule
