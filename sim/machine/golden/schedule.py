"""The schedule of a run of the golden model: warps at the same pc form groups, which take fair turns."""

from __future__ import annotations

from .decode import Instruction, fetch
from .records import EndStatus, Fault, FaultError, IssEnd
from .state import State
from .view import View

__all__ = ["Schedule"]

#: Every FAIR_TURN-th choice of a group is by turn instead of by lowest pc.
FAIR_TURN = 8
#: A value above every pc.
_NEVER = 1 << 33


class Schedule:
    """Runs the warps at the same pc together as a group.

    The group with the lowest pc runs first: groups that are ahead wait for it, so the groups of a loop merge again at
    its end. By itself, this rule would let a warp that spins on memory starve the warp it waits for. Every FAIR_TURN-th
    choice therefore takes the next higher pc after that of the last such choice, cyclically, so that every group gets a
    turn. A group runs until it jumps, changes, or reaches the pc of another.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        #: pc to the runnable warps there, as a bit mask.
        self._ready: dict[int, int] = {}
        self._choices = 0
        self._last_turn = 0
        self._executed = 0

    def run(self, limit: int) -> IssEnd:
        """See :meth:`sim.machine.golden.Iss.run`."""
        state = self._state
        self._ready = {}
        self._executed = 0
        state.released.clear()
        for warp in range(state.config.warps):
            if state.active[warp] and state.waiting[warp] is None:
                self._add(state.pc[warp], 1 << warp)
        fault = None
        try:
            while self._ready and self._executed < limit:
                pc = self._choose()
                state.arrive(pc)
                self._run_group(pc, limit)
        except _FaultStop as error:
            fault = error.fault
        for pc, bits in self._ready.items():
            self._set_pc(pc, bits)
        if fault is not None:
            status = EndStatus.FAULT
        elif self._ready:
            status = EndStatus.LIMIT
        else:
            status = EndStatus.ENDED if state.ended else EndStatus.DEADLOCK
        return IssEnd(status, self._executed, fault, state.waits())

    def _add(self, pc: int, bits: int) -> None:
        self._ready[pc] = self._ready.get(pc, 0) | bits

    def _set_pc(self, pc: int, bits: int) -> None:
        for warp in range(bits.bit_length()):
            if bits >> warp & 1:
                self._state.pc[warp] = pc

    def _choose(self) -> int:
        """Return the pc of the group that runs next."""
        ready = self._ready
        if len(ready) == 1:
            return next(iter(ready))
        self._choices += 1
        if self._choices % FAIR_TURN:
            return min(ready)
        self._last_turn = min((pc for pc in ready if pc > self._last_turn), default=min(ready))
        return self._last_turn

    def _run_group(self, pc: int, limit: int) -> None:
        """Run the group at ``pc`` until the next choice is due, and put it back into the ready groups."""
        state, ready = self._state, self._ready
        bits = ready.pop(pc)
        meet = min((other for other in ready if other > pc), default=_NEVER)
        if state.arrival is not None:
            # The group stops where data will arrive in memory; a jump can lead there only if no other group is ready.
            meet = min(meet, state.arrival.pc) if pc < state.arrival.pc or not ready else meet
        view = state.group_view(bits)
        recorder = state.recorder
        warps = len(view.warps)
        lanes = view.lanes
        try:
            while pc != meet and self._executed < limit:
                instruction = fetch(state.memory, pc, view.warps[0], state.no_code, state.config.fpu)
                if instruction.control or instruction.alone:
                    following = self._control(instruction, view, pc)
                    if ready or state.released or not isinstance(following, int):
                        self._follow(following, bits)
                        return
                    pc = following
                    view = state.group_view(bits)
                    lanes = view.lanes
                    continue
                instruction.execute(state, view, pc)
                if recorder is not None:
                    recorder.executed(pc, bits, state.epoch, state.mask_words)
                pc = pc + 4 & 0xFFFF_FFFF
                self._executed += warps
                state.mcycle += warps
                state.minstret += lanes
            self._add(pc, bits)
        except FaultError as error:
            self._add(pc, bits)
            raise _FaultStop(Fault(error.cause, error.warp, pc, error.address)) from None

    def _control(self, instruction: Instruction, view: View, pc: int) -> int | dict[int, int]:
        """Execute a control instruction or one that takes warps singly; return the next pcs as in :mod:`.control`."""
        state = self._state
        following: int | dict[int, int] | None
        lanes = view.lanes
        if not instruction.alone or view.single:
            following = instruction.execute(state, view, pc)
            if following is None:
                following = pc + 4 & 0xFFFF_FFFF
        else:
            following = self._one_by_one(instruction, view, pc)
        if state.recorder is not None:
            state.recorder.executed(pc, view.bits, state.epoch, state.mask_words)
        self._executed += len(view.warps)
        state.mcycle += len(view.warps)
        state.minstret += lanes
        return following

    def _one_by_one(self, instruction: Instruction, view: View, pc: int) -> int | dict[int, int]:
        state = self._state
        result: dict[int, int] = {}
        for warp in view.warps:
            try:
                following = instruction.execute(state, state.warp_view(warp), pc)
            except FaultError as error:
                self._follow(result, view.bits)
                self._add(pc, view.bits >> warp << warp)
                raise _FaultStop(Fault(error.cause, warp, pc, error.address)) from None
            if following is None:
                following = pc + 4 & 0xFFFF_FFFF
            for target, bits in following.items() if isinstance(following, dict) else ((following, 1 << warp),):
                result[target] = result.get(target, 0) | bits
        if len(result) == 1 and view.bits in result.values():
            return next(iter(result))
        return result

    def _follow(self, following: int | dict[int, int], bits: int) -> None:
        """Put the warps of a group (``bits``), and all that an instruction released, at their next pcs."""
        if isinstance(following, int):
            self._add(following, bits)
        else:
            for pc, warps in following.items():
                self._add(pc, warps)
        for warp in self._state.released:
            self._add(self._state.pc[warp], 1 << warp)
        self._state.released.clear()


class _FaultStop(Exception):
    """A fault with its location; the state is already consistent."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault)
        self.fault = fault
