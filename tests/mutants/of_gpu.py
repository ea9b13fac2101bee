"""Mutants of what several SMs share."""

from tests.mutants.mutant import Mutant

__all__ = ["GPU"]

_LSU = "metronome.hdl.memory.lsu:Lsu.elaborate"
_JOIN = "metronome.hdl.sm:Sm._join_gpu"
_WAITS = "metronome.hdl.memory.lanes.entrance:Entrance._leaves"
_INTERCONNECT = "metronome.hdl.gpu.interconnect:MemoryInterconnect"
_GPU = "metronome.hdl.gpu.gpu:Gpu.elaborate"
_HOST_VIEW = "metronome.hdl.gpu.host_view:HostView"
_LITMUS = "tests/system/test_litmus_rtl.py::test_nothing_forbidden_is_seen"
_RTL, _REPORTS = "tests/system/test_gpu_rtl.py", "tests/system/test_gpu_reports_rtl.py"
_UNITS = "tests/hdl/gpu"
_MEMCHECK, _SEVERAL = "metronome.sim.run.memcheck", "tests/sim/run/memcheck/test_several.py"
_L2 = "metronome.hdl.gpu.l2"
_DISPATCH, _DISPATCH_TESTS = "metronome.hdl.gpu.dispatch", f"{_UNITS}/test_dispatch.py"
_BLOCKS = f"{_DISPATCH_TESTS}::test_every_block_goes_to_one_sm"
_PASSES = f"{_DISPATCH_TESTS}::test_what_passes_the_port_of_an_sm"
_SMALL_L2, _PART = (f"{_UNITS}/test_l2.py::test_random_requests[{name}]" for name in ("small", "part"))
_ALONE = "tests/system/test_separation_rtl.py::test_with_tdm_an_sm_is_alone"

GPU = (
    Mutant("a fence leaves the lines of the data cache", _LSU,
           "l1.invalidate.eq(entrance.invalidate)", "l1.invalidate.eq(0)",
           (f"{_LITMUS}[GPU-SB+F+F]", f"{_LITMUS}[GPU-MP+B]")),
    Mutant("a fence does not wait for what is under way", _LSU,
           "entrance.drained.eq(~busy_behind)", "entrance.drained.eq(1)", (f"{_LITMUS}[GPU-LB+F+F]",)),
    Mutant("a fence holds only what was in front of it", _WAITS,
           "marks.w_data.eq(fence)", "marks.w_data.eq(0)", (f"{_LITMUS}[GPU-SB+F+F]",)),
    Mutant("an SM arrives before its stores are done", _JOIN,
           "control.barrier.arrived & lsu.idle", "control.barrier.arrived", (f"{_LITMUS}[GPU-MP+B]",)),
    Mutant("the end of a barrier between SMs is no fence", _JOIN,
           "control.fence | self.barrier.release", "control.fence", (f"{_LITMUS}[GPU-MP+B]",)),
    Mutant("the SM that was served last is the next one", f"{_INTERCONNECT}._choice",
           "later.eq(~(chosen | (chosen - 1)))", "later.eq(~(chosen - 1))",
           (f"{_UNITS}/test_interconnect.py::test_round_robin_serves_each_in_turn",)),
    Mutant("a slot is a cycle longer", f"{_INTERCONNECT}._slot",
           "self._config.slot_cycles - 1", "self._config.slot_cycles",
           (f"{_UNITS}/test_interconnect.py::test_tdm_serves_each_in_its_slot_only[3]",)),
    Mutant("a request is replaced before memory has taken it", f"{_INTERCONNECT}.elaborate",
           "free.eq(~request.valid | request.ready)", "free.eq(1)",
           (f"{_UNITS}/test_interconnect.py::test_random_traffic[0-2-round_robin]",)),
    Mutant("an SM uses the slot of another that asks for nothing", f"{_INTERCONNECT}._choice",
           "return self._slot(m)",
           "return (its := self._slot(m)) & asks | lowest_one(asks) & ~(its & asks).any().replicate(count)",
           (f"{_UNITS}/test_interconnect.py::test_tdm_serves_each_in_its_slot_only[1]", _ALONE)),
    Mutant("a response waits at the memory port until its SM takes it", f"{_INTERCONNECT}._queues",
           "arriving.append(queue.arriving)", "arriving.append(port.response)",
           (f"{_UNITS}/test_interconnect.py::test_there_is_room_for_the_responses_of_all_tags[round_robin]",)),
    Mutant("a barrier is complete although an SM waits for more", "metronome.hdl.gpu.barrier:GpuBarrier.elaborate",
           "there[i] & ~others_want", "there[i]", (f"{_UNITS}/test_barrier.py::test_random_arrivals[0]",)),
    Mutant("a fault stops one SM only", _GPU, "sm.halt.eq(host_view.fault_valid)", "sm.halt.eq(0)",
           (f"{_REPORTS}::test_a_fault_stops_all_sms[GPU]",)),
    Mutant("all SMs have number 0", _GPU, "sm.core_id.eq(i)", "sm.core_id.eq(0)",
           (f"{_RTL}::test_numbers_of_sms[GPU]",)),
    Mutant("SMs that ask in one cycle get the same block", f"{_DISPATCH}:DispatchUnit._in_turn",
           "offer.eq(following + before)", "offer.eq(following)",
           (f"{_BLOCKS}[dynamic-0]", "tests/system/test_dispatch_rtl.py::test_loads_take_blocks[DISPATCH_GPU]")),
    Mutant("an SM gets the blocks of others", f"{_DISPATCH}:DispatchUnit._by_sm",
           "offer + self._config.sms", "offer + 1", (f"{_BLOCKS}[static-0]",)),
    Mutant("the numbers of blocks begin anew", f"{_DISPATCH}:DispatchUnit._in_turn",
           "following = Signal(self._bits + 1)", "following = Signal(self._bits)",
           (f"{_DISPATCH_TESTS}::test_the_largest_grid_ends[dynamic]",)),
    Mutant("a response of memory is lost to a block", f"{_DISPATCH}:DispatchPort.elaborate",
           "first.eq(waits & ~held)", "first.eq(waits)", (f"{_PASSES}[0]",)),
    Mutant("a grid is launched before memory takes the store", f"{_DISPATCH}:DispatchPort.elaborate",
           "request.payload.write & below.ready &", "request.payload.write &", (f"{_PASSES}[0]",)),
    Mutant("a second block replaces the first", f"{_DISPATCH}:DispatchPort.elaborate",
           "Mux(takes, ~waits, below.ready)", "Mux(takes, 1, below.ready)", (f"{_PASSES}[0]",)),
    Mutant("a write does not wait for a read of its line", f"{_L2}.cache:L2._lookup",
           "Mux(head.write, requests.some_open, requests.write_open)", "requests.write_open", (_SMALL_L2,)),
    Mutant("a read does not wait for a write of its line", f"{_L2}.cache:L2._lookup",
           "Mux(head.write, requests.some_open, requests.write_open)", "head.write & requests.some_open",
           (_SMALL_L2,)),
    Mutant("a line that memory refuses is in the L2", f"{_L2}.answers:L2Answers.elaborate",
           "fresh & keeps & ~error", "fresh & keeps", (_SMALL_L2,)),
    Mutant("an uncached line is in the L2", f"{_L2}.cache:L2._lookup",
           "requests.cached.eq(head.line >= user)", "requests.cached.eq(1)", (_SMALL_L2,)),
    Mutant("an entry is free while others wait for its line", f"{_L2}.requests:L2Requests._answer",
           "Mux(self.last, lead, 0)", "Mux(self.first, lead, 0)", (_SMALL_L2,)),
    Mutant("a line that is on its way survives a fence", f"{_L2}.cache:L2.elaborate",
           "(tags.invalidate, requests.forget, answers.forget)", "(tags.invalidate,)", (_PART,)),
    Mutant("a fence does not reach the L2", _GPU, "l2[i].invalidate.eq(sm.fences)", "l2[i].invalidate.eq(0)",
           (f"{_LITMUS}[PARTS_GPU-SB+F+F]",)),
    Mutant("a fence.i does not reach the L2", _JOIN, "lsu.empties | fetches", "lsu.empties",
           (f"{_RTL}::test_a_fence_i_fetches_what_another_sm_has_stored[PARTS_GPU]",)),
    Mutant("the SM of a fault is that of several mixed", f"{_HOST_VIEW}.elaborate", "lowest_one(faults)", "faults",
           (f"{_UNITS}/test_host_view.py::test_random_outputs[4]",)),
    Mutant("the counter is valid if SM 0's is", f"{_HOST_VIEW}.elaborate", "sm.counter_valid for sm in sms",
           "sms[0].counter_valid for sm in sms", (f"{_UNITS}/test_host_view.py::test_random_outputs[2]",)),
    Mutant("the host's choice of an SM is lost", "metronome.hdl.bus.registers:ControlRegisters.elaborate",
           'self.counter_sm.eq(state["counter_sm"])', "self.counter_sm.eq(0)",
           ("tests/hdl/bus/test_gpu_registers.py::test_the_registers_of_a_gpu[LiteHost]",)),
    Mutant("a flag of another SM orders without a fence", f"{_MEMCHECK}.order:Order.take_flags",
           "int(self._warp[number]) // self._of_sm == warp // self._of_sm", "True",
           (f"{_SEVERAL}::test_a_flag_orders_from_the_next_fence_of_its_reader[19-False]",)),
    Mutant("a barrier between SMs orders nothing for the memory checker", f"{_MEMCHECK}.several:GpuMemCheck.meet",
           "self._common.order.meet(", "list(", (f"{_SEVERAL}::test_the_races_are_those_of_the_predictor[2]",)),
    Mutant("a finding of the memory checker names a warp of SM 0", f"{_MEMCHECK}.several:GpuMemCheck._of_sms",
           "replace(side, sm=sm, warp=warp)", "replace(side, sm=0, warp=warp)",
           (f"{_SEVERAL}::test_a_store_to_nothing_names_its_sm",)),
    Mutant("the lanes of a branch that disagree are all", "metronome.sim.run.gpu.lanes:fault_lanes",
           "ways[lane] != ways[active[0]]", "True",
           ("tests/sim/run/gpu/test_lanes.py::test_the_lanes_that_disagree_about_a_branch",)),
)
