// Simulation top: the SM, its clock, and a mailbox (tb/mailbox.cpp) through which Python serves its memory port.
//
// The inputs of the SM change at the falling edge; its outputs are read at the rising edge, which
// ends a cycle. Cycle 0 is the one in which start is high. Python wakes only when `wake` changes: at the rising edge
// that ends a cycle, so an answer can still be presented in the cycle that follows. layout.svh is generated from the
// layouts of hdl (sim/build/simulator.py): the position and width of every field.

`timescale 1ns / 1ps

module metronome_top;
  `include "layout.svh"

  import "DPI-C" function bit mailbox_launch(
      output int start_pc, output int arg, output int policy, output int fetch_policy,
      output longint max_cycles, output longint tail, output int record_level);
  import "DPI-C" function int mailbox_drive(input longint cycle);
  import "DPI-C" function void mailbox_response(output int tag, output bit error, output bit [511:0] data);
  import "DPI-C" function void mailbox_request(
      input longint cycle, input int line, input int tag, input bit write, input longint byte_mask,
      input bit [511:0] data);
  import "DPI-C" function void mailbox_record(input longint cycle, input bit [RECORD_BITS-1:0] record);
  import "DPI-C" function void mailbox_finish(input bit [STATUS_BITS-1:0] status, input int words);
  import "DPI-C" function bit mailbox_end_cycle(input longint cycle);
  import "DPI-C" function void statistics_launch(
      input int warps, input int reasons, input int bits_of_reason, input int lookup_waits);
  import "DPI-C" function void statistics_warps(
      input longint active, input bit [PROBE_SM_REASON_BITS-1:0] reasons, input longint instructions,
      input longint nops);
  import "DPI-C" function void statistics_access(
      input bit store, input bit first, input bit uncached, input bit hit, input bit merge, input bit forward);
  import "DPI-C" function void statistics_wait(input int reason);
  import "DPI-C" function void statistics_load(input longint cycle, input int warp, input int rd);
  import "DPI-C" function void statistics_write(
      input longint cycle, input bit region, input int warp, input int rd);

  localparam int RESET_CYCLES = 3;
  // A deadlock is reported after this many cycles in which the LSU could have sent a request and did not:
  // then no load or store is left that could still become a fault.
  localparam int DEADLOCK_CYCLES = 1024;

  bit clk = 0;
  bit rst = 1;
  bit start = 0;
  bit wake /*verilator public_flat_rw*/ = 0;
  bit running = 0;
  bit stopped = 0;
  int start_pc, arg, policy, fetch_policy, record_level;
  longint max_cycles, tail;
  longint last_busy = 0;
  // Negative during reset.
  longint cycle = 0;

  wire req_valid;
  bit req_ready = 0;
  wire [REQ_BITS-1:0] req;
  bit resp_valid = 0;
  wire resp_ready;
  bit [RESP_BITS-1:0] resp;
  bit resp_taken = 0;
  wire busy, fault_valid;
  wire [STATUS_FAULT_BITS-1:0] fault;
  wire [STATUS_HANG_PC_BITS-1:0] hang_pc;
  wire [STATUS_PASSED_OVER_BITS-1:0] passed_over;
  wire [STATUS_COUNTERS_BITS-1:0] counters;
  wire [STATUS_ASSERTIONS_BITS-1:0] assertions;
  wire [PROBE_BITS-1:0] probe;

`ifndef METRONOME_PROBE
  assign probe = '0;
  assign hang_pc = '0;
  assign passed_over = '0;
`endif
`ifndef METRONOME_ASSERTIONS
  assign assertions = '0;
`endif

  metronome_sm sm (
      .clk, .rst, .start, .start_pc, .arg,
`ifdef METRONOME_POLICY
      .policy(policy[POLICY_BITS-1:0]),
`endif
`ifdef METRONOME_FETCH_POLICY
      .fetch_policy(fetch_policy[FETCH_POLICY_BITS-1:0]),
`endif
`ifdef METRONOME_PROBE
      .probe, .hang_pc, .passed_over,
`endif
`ifdef METRONOME_ASSERTIONS
      .assertions,
`endif
      .mem__req__valid(req_valid), .mem__req__ready(req_ready), .mem__req__payload(req),
      .mem__resp__valid(resp_valid), .mem__resp__ready(resp_ready), .mem__resp__payload(resp),
      .busy, .fault_valid, .fault, .counters, .counter_index('0), .counter_value(), .counter_valid());

  always #1 clk = !clk;

  always @(negedge clk) begin
    bit response_error;
    int response_tag, memory;
    bit [511:0] response_data;
    start = 0;
    if (stopped) running = 0;
    if (resp_taken) resp_valid = 0;
    if (!running && mailbox_launch(start_pc, arg, policy, fetch_policy, max_cycles, tail, record_level)) begin
      statistics_launch(WARPS, STALL_REASONS, STALL_REASON_BITS, LOOKUP_WAITS);
      rst = 1;
      running = 1;
      cycle = -RESET_CYCLES;
      resp_valid = 0;
      jumps_again = 0;
      jumps_on = 0;
      lsu_requests = 0;
      deadlocked = 0;
    end else if (running) cycle = cycle + 1;
    req_ready = 0;
    if (running && cycle >= 0) begin
      rst = 0;
      start = cycle == 0;
      memory = mailbox_drive(cycle);
      req_ready = memory[0];
      if (memory[1] && !resp_valid) begin
        mailbox_response(response_tag, response_error, response_data);
        resp_valid = 1;
        resp[RESP_TAG_LSB+:RESP_TAG_BITS] = response_tag[RESP_TAG_BITS-1:0];
        resp[RESP_ERROR_LSB+:RESP_ERROR_BITS] = response_error;
        resp[RESP_DATA_LSB+:RESP_DATA_BITS] = response_data;
      end
    end
  end

  // Deadlock: every active warp waits at a barrier or in wspawn, or jumps to itself, and memory owes the LSU nothing. A
  // warp that waits is released by an instruction of another only; one whose last three instructions were the same jump
  // has come back to the state that it had: neither can change any more.
  int jump_pc[64];
  bit [63:0] jumps_again = 0, jumps_on = 0;
  int lsu_requests = 0, deadlocked = 0;
  wire deadlock = deadlocked >= DEADLOCK_CYCLES;

  wire ended = cycle > 0 && !busy;
  wire over = (ended && cycle > last_busy + tail) || |assertions || deadlock || cycle >= max_cycles;

  // Warps of all partitions: warp w of the SM is warp w / SCHEDULERS of partition w % SCHEDULERS.
  bit event_in_cycle;
  bit [63:0] active, waiting, instructions, nops;

  function automatic int whole_warp(int p, int warp);
    return SCHEDULERS * warp + p;
  endfunction

  function automatic void gather();
    bit [PROBE_CONTROL_ACTIVE_BITS-1:0] runs, waits;
    event_in_cycle = probe[PROBE_STORE_VALID_LSB];
    active = 0;
    waiting = 0;
    instructions = 0;
    nops = 0;
    for (int p = 0; p < SCHEDULERS; p++) begin
      event_in_cycle |= probe[AT_ISSUE_VALID[p]] || probe[AT_WB_VALID[p]];
      runs = probe[AT_CONTROL_ACTIVE[p]+:PROBE_CONTROL_ACTIVE_BITS];
      waits = probe[AT_CONTROL_WAITING[p]+:PROBE_CONTROL_ACTIVE_BITS];
      if (SCHEDULERS == 1) begin
        active = 64'(runs);
        waiting = 64'(waits);
      end else
        for (int w = 0; w < PROBE_CONTROL_ACTIVE_BITS; w++) begin
          active[whole_warp(p, w)] = runs[w];
          waiting[whole_warp(p, w)] = waits[w];
        end
      if (probe[AT_FRONT_SELECT_VALID[p]]) begin
        if (probe[AT_FRONT_SELECT_NOP[p]])
          nops[whole_warp(p, 32'(probe[AT_FRONT_SELECT_WARP[p]+:PROBE_FRONT_SELECT_WARP_BITS]))] = 1;
        else instructions[whole_warp(p, 32'(probe[AT_FRONT_SELECT_WARP[p]+:PROBE_FRONT_SELECT_WARP_BITS]))] = 1;
      end
    end
  endfunction

  function automatic void observe_cycle();
    bit region = probe[PROBE_CONTROL_REGION_LSB];
    bit [PROBE_LOOKUP_WAIT_BITS-1:0] lookup_wait = probe[PROBE_LOOKUP_WAIT_LSB+:PROBE_LOOKUP_WAIT_BITS];
    if (region) begin
      statistics_warps(
          probe[PROBE_SM_HALT_LSB] ? 0 : active, probe[PROBE_SM_REASON_LSB+:PROBE_SM_REASON_BITS], instructions, nops);
      if (probe[PROBE_LOOKUP_ACCESS_LSB])
        statistics_access(
            probe[PROBE_LOOKUP_STORE_LSB], probe[PROBE_LOOKUP_FIRST_LSB], probe[PROBE_LOOKUP_UNCACHED_LSB],
            probe[PROBE_LOOKUP_HIT_LSB], probe[PROBE_LOOKUP_MERGE_LSB], probe[PROBE_LOOKUP_FORWARD_LSB]);
      if (lookup_wait != 0) statistics_wait(32'(lookup_wait));
    end
    for (int p = 0; p < SCHEDULERS; p++) begin
      // The fields of a load (RV32I, RV32F) as the probe shows it in stage X.
      bit [31:0] issued = probe[AT_ISSUE_INSTRUCTION[p]+:32];
      bit float_load = issued[6:0] == 7'h07;
      if (probe[AT_ISSUE_VALID[p]] && (float_load || (issued[6:0] == 7'h03 && issued[11:7] != 0)))
        statistics_load(
            cycle, whole_warp(p, 32'(probe[AT_ISSUE_WARP[p]+:PROBE_ISSUE_WARP_BITS])), 32'({float_load, issued[11:7]}));
      if (probe[AT_WB_VALID[p]] && probe[AT_WB_VALUE_LAST[p]])
        statistics_write(
            cycle, region, whole_warp(p, 32'(probe[AT_WB_VALUE_WARP[p]+:PROBE_WB_VALUE_WARP_BITS])),
            32'(probe[AT_WB_VALUE_RD[p]+:PROBE_WB_VALUE_RD_BITS]));
    end
  endfunction

  function automatic void observe_deadlock();
    // Taken before jumps_on changes: a jump of this cycle counts from the next on.
    bit stuck = active != 0 && (active & ~(waiting | jumps_on)) == 0 && !probe[PROBE_SM_HALT_LSB];
    for (int p = 0; p < SCHEDULERS; p++)
      if (probe[AT_ISSUE_VALID[p]]) begin
        int warp = whole_warp(p, 32'(probe[AT_ISSUE_WARP[p]+:PROBE_ISSUE_WARP_BITS]));
        int pc = probe[AT_ISSUE_PC[p]+:32];
        // Branch, jalr, jal.
        bit again = probe[AT_ISSUE_INSTRUCTION[p]+4+:3] == 3'b110 && jump_pc[warp] == pc;
        jumps_on[warp] = again && jumps_again[warp];
        jumps_again[warp] = again;
        jump_pc[warp] = pc;
      end
    // The highest bit of a tag: the LSU's.
    if (req_valid && req_ready && req[REQ_TAG_LSB+REQ_TAG_BITS-1]) lsu_requests = lsu_requests + 1;
    if (resp_taken && resp[RESP_TAG_LSB+RESP_TAG_BITS-1]) lsu_requests = lsu_requests - 1;
    if (!stuck || lsu_requests != 0) deadlocked = 0;
    else if (req_ready) deadlocked = deadlocked + 1;
  endfunction

  function automatic void record_cycle();
    bit [RECORD_BITS-1:0] record = RECORD_BITS'(probe);
    record[RECORD_PORT_REQUEST_LSB] = req_valid && req_ready;
    record[RECORD_PORT_TAG_LSB+:RECORD_PORT_TAG_BITS] = req[REQ_TAG_LSB+:REQ_TAG_BITS];
    record[RECORD_PORT_LINE_LSB+:RECORD_PORT_LINE_BITS] = req[REQ_LINE_LSB+:REQ_LINE_BITS];
    record[RECORD_PORT_WRITE_LSB] = req[REQ_WRITE_LSB];
    record[RECORD_PORT_ANSWER_LSB] = resp_taken;
    record[RECORD_PORT_ANSWER_TAG_LSB+:RECORD_PORT_ANSWER_TAG_BITS] = resp[RESP_TAG_LSB+:RESP_TAG_BITS];
    record[RECORD_PORT_ERROR_LSB] = resp[RESP_ERROR_LSB];
    mailbox_record(cycle, record);
  endfunction

  always @(posedge clk) begin
    bit [STATUS_BITS-1:0] status;
    resp_taken = resp_valid && resp_ready;
    stopped = running && cycle >= 0 && over;
    if (!ended) last_busy = cycle;
    if (running && cycle >= 0) begin
      if (req_valid && req_ready)
        mailbox_request(
            cycle, 32'(req[REQ_LINE_LSB+:REQ_LINE_BITS]), 32'(req[REQ_TAG_LSB+:REQ_TAG_BITS]), req[REQ_WRITE_LSB],
            req[REQ_BYTE_MASK_LSB+:REQ_BYTE_MASK_BITS], req[REQ_DATA_LSB+:REQ_DATA_BITS]);
      // The SM's counters are registers, which the last cycle does not reach any more: these do not count it either.
      gather();
      if (!stopped) observe_cycle();
      observe_deadlock();
      if (record_level == 2 || (record_level == 1 && event_in_cycle)) record_cycle();
      if (stopped) begin
        status = '0;
        status[STATUS_ENDED_LSB] = ended;
        status[STATUS_DEADLOCK_LSB] = deadlock;
        status[STATUS_FAULT_VALID_LSB] = fault_valid;
        status[STATUS_FAULT_LSB+:STATUS_FAULT_BITS] = fault;
        status[STATUS_ACTIVE_LSB+:STATUS_ACTIVE_BITS] = active[STATUS_ACTIVE_BITS-1:0];
        status[STATUS_HANG_LSB+:STATUS_HANG_BITS] = probe[PROBE_SM_REASON_LSB+:PROBE_SM_REASON_BITS];
        status[STATUS_HANG_PC_LSB+:STATUS_HANG_PC_BITS] = hang_pc;
        status[STATUS_PASSED_OVER_LSB+:STATUS_PASSED_OVER_BITS] = passed_over;
        status[STATUS_COUNTERS_LSB+:STATUS_COUNTERS_BITS] = counters;
        status[STATUS_ASSERTIONS_LSB+:STATUS_ASSERTIONS_BITS] = assertions;
        mailbox_finish(status, (STATUS_BITS + 31) / 32);
      end
      if (mailbox_end_cycle(cycle)) wake = !wake;
    end
  end
endmodule
