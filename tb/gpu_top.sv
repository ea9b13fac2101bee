// Simulation top of a GPU: its clock, and the mailbox (tb/mailbox.cpp) through which Python serves its memory port.
//
// As tb/top.sv, for several SMs. A record is that of one SM in one cycle, without the transfers on its memory port; the
// number of the SM is in the highest byte of the record's cycle. The number after the last SM's marks transfers at the
// memory port, if every cycle is recorded. layout.svh is generated from the layouts of hdl
// (sim/build/gpu.py); METRONOME_SM_PORTS connects the outputs of each SM to the arrays below.

// As classes of their own, the SMs simulate 5 % faster, and build faster, than in one class with all of the GPU.
`verilator_config
no_inline -module "metronome_sm"
`verilog

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
  import "DPI-C" function void gpu_status(
      input int sm, input bit [STATUS_BITS-1:0] status, input int words, input bit [2047:0] masks);

  localparam int RESET_CYCLES = 3;
  // As in tb/top.sv.
  localparam int DEADLOCK_CYCLES = 1024;
  // The place of an SM's number in the cycle of a record.
  localparam int SM_SHIFT = 56;

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
  wire busy;
  wire [SMS-1:0] sm_busy, fault_valid;
  wire [STATUS_FAULT_BITS-1:0] fault[0:SMS-1];
  wire [STATUS_HANG_PC_BITS-1:0] hang_pc[0:SMS-1];
  wire [STATUS_PASSED_OVER_BITS-1:0] passed_over[0:SMS-1];
  wire [STATUS_COUNTERS_BITS-1:0] counters[0:SMS-1];
  wire [STATUS_ASSERTIONS_BITS-1:0] assertions[0:SMS-1];
  wire [PROBE_BITS-1:0] probe[0:SMS-1];
  // The counters of the L2, now and at the end of the last program.
  wire [L2_BITS-1:0] l2_counters;
  bit [L2_BITS-1:0] l2_counted /*verilator public_flat_rd*/ = 0;

`ifndef METRONOME_L2
  assign l2_counters = '0;
`endif
`ifndef METRONOME_PROBE
  assign probe = '{default: '0};
  assign hang_pc = '{default: '0};
  assign passed_over = '{default: '0};
`endif
`ifndef METRONOME_ASSERTIONS
  assign assertions = '{default: '0};
`endif

  metronome_gpu gpu (
      .clk, .rst, .start, .start_pc, .arg,
`ifdef METRONOME_POLICY
      .policy(policy[POLICY_BITS-1:0]),
`endif
`ifdef METRONOME_FETCH_POLICY
      .fetch_policy(fetch_policy[FETCH_POLICY_BITS-1:0]),
`endif
      `METRONOME_SM_PORTS,
      .mem__req__valid(req_valid), .mem__req__ready(req_ready), .mem__req__payload(req),
      .mem__resp__valid(resp_valid), .mem__resp__ready(resp_ready), .mem__resp__payload(resp), .busy,
      // Only a host reads through these: the outputs of each SM have more.
      .counter_sm('0), .counter_index('0), .counter_value(), .counter_valid(), .fault_valid(), .fault(), .fault_sm());

  always #1 clk = !clk;

  always @(negedge clk) begin
    bit response_error;
    int response_tag, memory;
    bit [511:0] response_data;
    start = 0;
    if (stopped) running = 0;
    if (resp_taken) resp_valid = 0;
    if (!running && mailbox_launch(start_pc, arg, policy, fetch_policy, max_cycles, tail, record_level)) begin
      rst = 1;
      running = 1;
      cycle = -RESET_CYCLES;
      resp_valid = 0;
      jumps_again = '{default: '0};
      issue_mask = '{default: '{default: '0}};
      jumps_on = '{default: '0};
      owed = 0;
      owed_writes = 0;
      reads = 0;
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

  // Deadlock, as in tb/top.sv: the warps of no SM can change any more. A barrier between SMs that is complete releases
  // its warps within the cycles that are waited for.
  int jump_pc[0:SMS-1][64];
  // The lanes of the instruction at jump_pc, the one issued last.
  bit [31:0] issue_mask[0:SMS-1][64];
  bit [63:0] jumps_again[0:SMS-1], jumps_on[0:SMS-1];
  // Requests that memory has not answered, without those of the I-caches. An L2 does not tell these apart: after more
  // reads in a deadlock than the loads in all LSUs can make, only writes count.
  localparam int MOST_LOADS = 64 * SMS * THREADS;
  int owed = 0;
  int owed_writes = 0;
  int reads = 0;
  bit [(1<<REQ_TAG_BITS)-1:0] is_write;
  int deadlocked = 0;
  wire deadlock = deadlocked >= DEADLOCK_CYCLES;

  wire ended = cycle > 0 && !busy;
  bit asserted;
  wire over = (ended && cycle > last_busy + tail) || asserted || deadlock || cycle >= max_cycles;
  always_comb begin
    asserted = 0;
    for (int s = 0; s < SMS; s++) asserted |= |assertions[s];
  end

  // Warps of all partitions: warp w of the SM is warp w / SCHEDULERS of partition w % SCHEDULERS.
  function automatic bit [63:0] warps_of(int s, bit waits);
    bit [PROBE_CONTROL_ACTIVE_BITS-1:0] mine;
    warps_of = 0;
    for (int p = 0; p < SCHEDULERS; p++) begin
      mine = probe[s][(waits ? AT_CONTROL_WAITING[p] : AT_CONTROL_ACTIVE[p])+:PROBE_CONTROL_ACTIVE_BITS];
      for (int w = 0; w < PROBE_CONTROL_ACTIVE_BITS; w++) warps_of[SCHEDULERS*w+p] = mine[w];
    end
  endfunction

  function automatic bit has_event(int s);
    has_event = probe[s][PROBE_STORE_VALID_LSB];
    for (int p = 0; p < SCHEDULERS; p++) has_event |= probe[s][AT_ISSUE_VALID[p]] || probe[s][AT_WB_VALID[p]];
  endfunction

  function automatic void observe_deadlock();
    bit stuck = 0, moves = 0, waits;
    for (int s = 0; s < SMS; s++) begin
      bit [63:0] active = warps_of(s, 0);
      // Before jumps_on changes: a jump of this cycle counts from the next on.
      if ((active & ~(warps_of(s, 1) | jumps_on[s])) != 0) moves = 1;
      if (active != 0) stuck = 1;
      if (probe[s][PROBE_SM_HALT_LSB]) moves = 1;
      for (int p = 0; p < SCHEDULERS; p++)
        if (probe[s][AT_ISSUE_VALID[p]]) begin
          int warp = SCHEDULERS * 32'(probe[s][AT_ISSUE_WARP[p]+:PROBE_ISSUE_WARP_BITS]) + p;
          int pc = probe[s][AT_ISSUE_PC[p]+:32];
          // Branch, jalr, jal.
          bit again = probe[s][AT_ISSUE_INSTRUCTION[p]+4+:3] == 3'b110 && jump_pc[s][warp] == pc;
          jumps_on[s][warp] = again && jumps_again[s][warp];
          jumps_again[s][warp] = again;
          jump_pc[s][warp] = pc;
          issue_mask[s][warp] = 32'(probe[s][AT_ISSUE_MASK[p]+:PROBE_ISSUE_MASK_BITS]);
        end
    end
    // The bit of a tag below the number of the SM: the LSU's.
    if (req_valid && req_ready && (HAS_L2 || req[REQ_TAG_LSB+SM_TAG_BITS-1])) owed = owed + 1;
    if (resp_taken && (HAS_L2 || resp[RESP_TAG_LSB+SM_TAG_BITS-1])) owed = owed - 1;
    if (req_valid && req_ready) begin
      is_write[req[REQ_TAG_LSB+:REQ_TAG_BITS]] = req[REQ_WRITE_LSB];
      if (req[REQ_WRITE_LSB]) owed_writes = owed_writes + 1;
      else if (HAS_L2) reads = reads + 1;
    end
    if (resp_taken && is_write[resp[RESP_TAG_LSB+:RESP_TAG_BITS]]) owed_writes = owed_writes - 1;
    if (!stuck || moves) reads = 0;
    waits = reads > MOST_LOADS ? owed_writes != 0 : owed != 0;
    if (!stuck || moves || waits) deadlocked = 0;
    else if (req_ready) deadlocked = deadlocked + 1;
  endfunction

  // The transfers at the memory port, in place of a record (sim/run/gpu/records.py).
  function automatic bit [RECORD_BITS-1:0] transfers();
    transfers = '0;
    transfers[0] = req_valid && req_ready;
    transfers[1] = resp_taken;
    transfers[2] = req[REQ_WRITE_LSB];
    transfers[3] = resp[RESP_ERROR_LSB];
    transfers[32+:32] = 32'(req[REQ_TAG_LSB+:REQ_TAG_BITS]);
    transfers[64+:32] = 32'(req[REQ_LINE_LSB+:REQ_LINE_BITS]);
    transfers[96+:32] = 32'(resp[RESP_TAG_LSB+:RESP_TAG_BITS]);
  endfunction

  function automatic void report(int s);
    bit [STATUS_BITS-1:0] status = '0;
    bit [63:0] active = warps_of(s, 0);
    bit [2047:0] masks = '0;
    for (int w = 0; w < WARPS; w++)
      if (jump_pc[s][w] == hang_pc[s][32*w+:32]) masks[32*w+:32] = issue_mask[s][w];
    status[STATUS_ENDED_LSB] = ended;
    status[STATUS_DEADLOCK_LSB] = deadlock;
    status[STATUS_FAULT_VALID_LSB] = fault_valid[s];
    status[STATUS_FAULT_LSB+:STATUS_FAULT_BITS] = fault[s];
    status[STATUS_ACTIVE_LSB+:STATUS_ACTIVE_BITS] = active[STATUS_ACTIVE_BITS-1:0];
    status[STATUS_HANG_LSB+:STATUS_HANG_BITS] = probe[s][PROBE_SM_REASON_LSB+:PROBE_SM_REASON_BITS];
    status[STATUS_HANG_PC_LSB+:STATUS_HANG_PC_BITS] = hang_pc[s];
    status[STATUS_PASSED_OVER_LSB+:STATUS_PASSED_OVER_BITS] = passed_over[s];
    status[STATUS_COUNTERS_LSB+:STATUS_COUNTERS_BITS] = counters[s];
    status[STATUS_ASSERTIONS_LSB+:STATUS_ASSERTIONS_BITS] = assertions[s];
    gpu_status(s, status, (STATUS_BITS + 31) / 32, masks);
  endfunction

  always @(posedge clk) begin
    resp_taken = resp_valid && resp_ready;
    stopped = running && cycle >= 0 && over;
    if (!ended) last_busy = cycle;
    if (running && cycle >= 0) begin
      if (req_valid && req_ready)
        mailbox_request(
            cycle, 32'(req[REQ_LINE_LSB+:REQ_LINE_BITS]), 32'(req[REQ_TAG_LSB+:REQ_TAG_BITS]), req[REQ_WRITE_LSB],
            req[REQ_BYTE_MASK_LSB+:REQ_BYTE_MASK_BITS], req[REQ_DATA_LSB+:REQ_DATA_BITS]);
      observe_deadlock();
      if (record_level != 0)
        for (int s = 0; s < SMS; s++)
          if (record_level == 2 || has_event(s))
            mailbox_record(cycle | longint'(s) << SM_SHIFT, RECORD_BITS'(probe[s]));
      if (record_level == 2 && (req_valid && req_ready || resp_taken))
        mailbox_record(cycle | longint'(SMS) << SM_SHIFT, transfers());
      if (stopped) begin
        for (int s = 0; s < SMS; s++) report(s);
        l2_counted = l2_counters;
        mailbox_finish('0, 1);
      end
      if (mailbox_end_cycle(cycle)) wake = !wake;
    end
  end
endmodule
