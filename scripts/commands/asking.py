"""What ``metronome run`` and ``metronome predict`` are asked for: one program on one machine."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from metronome.sim.machine.engines import Engine

from ..options.common import json_target
from ..options.compiling import compiling
from ..options.dumps import Dump, parse_dumps
from ..options.loads import parse_loads
from ..options.machine import Machine, machine
from ..options.program import find_program
from ..options.running import check_run_options, memory_latency, memory_options
from ..options.schemes import check_scheme, coordinate
from ..output.outputs import STANDARD_OUTPUT, refuse_shared, waves, write_json
from ..output.profiling import Counted, print_profile
from ..process.backend import backend_of
from ..process.errors import UsageError
from .result import Outcome, print_outcome
from .wcet_lines import refusal

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig
    from metronome.sim.analysis.access_order.records import Listing
    from metronome.sim.program.kernels import Launch
    from metronome.sim.run.types import RunRequest, RunResult

__all__ = ["AskedRun", "asked_run", "with_parameters_of"]


@dataclass(frozen=True, kw_only=True)
class AskedRun:
    """A run, ready to be made, and what is to become of its result."""

    machine: Machine
    config: SmConfig
    launch: Launch
    request: RunRequest
    dumps: Sequence[Dump]
    as_json: bool
    target: Path | None
    per_warp: bool
    #: What the program has its list of accesses from, with ordered channels.
    listing: Listing | None = None

    def finish(
        self, result: RunResult, more: Mapping[str, Any] | None = None, *, engine: Engine = Engine.RTL,
        finishes: Sequence[int | None] | None = None, profiled: Counted | None = None,
    ) -> int:
        """Write what was asked for, whatever the outcome: a dump is most wanted after a fault.

        ``more`` goes into the JSON; ``finishes`` is for the table (:func:`scripts.commands.result.print_outcome`); what
        was
        ``profiled`` is told in both.

        Returns the exit status.
        """
        outcome = Outcome(
            machine=self.machine, config=self.config, launch=self.launch, request=self.request, result=result,
            engine=engine, dumped=[(dump.address, dump.size) for dump in self.dumps],
        )
        for dump in self.dumps:
            dump.write(result.memory)
        summary = None if profiled is None else profiled.summary()
        told = {} if summary is None else {"profile": summary.as_json()}
        if self.as_json:
            write_json(self.target, outcome.as_json() | dict(more or {}) | told)
        print_outcome(
            outcome, table=not self.as_json or self.target is not None, per_warp=self.per_warp, finishes=finishes
        )
        if summary is not None and (not self.as_json or self.target is not None):
            print_profile(summary)
        return outcome.exit_status


def asked_run(
    ctx: typer.Context, given: Mapping[str, Any], outputs: Sequence[tuple[str, Path]] = (), *, with_list: bool = True,
    before: Callable[[SmConfig], None] = lambda config: None,
) -> AskedRun:
    """Check what was ``given`` for the parameters of ``metronome run``, and prepare the program.

    ``outputs``: further files that are written, by their option. ``with_list``: with ordered channels the program gets
    its list of accesses. ``before``: called with the machine before anything is compiled.

    Raises
    ------
    UsageError
        For whatever cannot be run.
    """
    check, memcheck = given.get("check", False), given.get("memcheck")
    memory, dtype = check_run_options(
        memory=given["memory"], dtype=given["dtype"], size=given["size"], seed=given["seed"],
        max_cycles=given["max_cycles"],
    )
    cycles = memory_latency(memory, given["latency"])
    options = memory_options(memory, given["timing"], given["memory_clock"], given["bank_hash"])
    asked = machine(given["preset"], given["warps"], given["threads"], given["settings"], given["config_file"])
    scheme = check_scheme(
        asked.config, mode=given["mode"], fetch=given["fetch"], issue=given["issue"], prediction=given["prediction"]
    )
    config = coordinate(asked.config, scheme)
    if check and not config.probe:
        raise UsageError("--check compares what the probe shows: leave out --set probe=false")
    how = compiling(given["cflags"], given["function"], given["no_simt"])
    program = find_program(given["kernel"], given["elf"], given["binary"])
    target = json_target(given["json_file"])
    dump_requests = parse_dumps(given["dump"] or [])
    loads = parse_loads(given["load"] or [])
    inputs = {
        "--arg": given["argument"], "--config": given["config_file"],
        **{f"--load {each.text}": str(each.file) for each in loads},
    }
    written = [] if target is None else [("--json", target)]
    written += [(f"--dump {request.text}", request.file) for request in dump_requests]
    files = program.files | {option: Path(name).expanduser() for option, name in inputs.items() if name}
    # The table or the JSON is on standard output in any case.
    refuse_shared([*written, *outputs, *waves()], [STANDARD_OUTPUT, *files.items()])

    before(config)
    launch = program.prepare(
        backend_of(ctx), config, dtype=dtype, size=given["size"], seed=given["seed"], argument=given["argument"],
        compiling=how,
    )
    launch, config = program.with_memory(launch, asked, config)
    launch = program.with_region(program.with_loads(launch, loads), given["region"], config)
    symbols = {**launch.image.symbols, **{name: (place, len(data)) for name, (place, data) in launch.buffers.items()}}
    dumps = [request.resolve(symbols, config.memory_map, launch.buffers) for request in dump_requests]
    from metronome.sim.run.types import RunRequest

    request = RunRequest(
        launch=launch, policy=scheme.issue, fetch_policy=scheme.fetch, memory=memory, latency=cycles,
        seed=given["seed"], memory_options=options, check=check, memcheck=check if memcheck is None else memcheck,
        strict_races=given.get("strict_races", False),
        max_cycles=given["max_cycles"],
    )
    listing = None
    if config.ordered and with_list:
        launch, listing = _ordered(config, request, launch)
        request = dataclasses.replace(request, launch=launch)
    return AskedRun(
        machine=asked, config=config, launch=launch, request=request, dumps=dumps,
        as_json=given["json_file"] is not None, target=target, per_warp=given["per_warp"], listing=listing,
    )


def _ordered(config: SmConfig, request: RunRequest, launch: Launch) -> tuple[Launch, Listing | None]:
    """``launch``, which is that of ``request``, with its list of accesses, and what that is made of.

    Raises
    ------
    UsageError
        If it has none, or the list has no place.
    """
    from metronome.sim.analysis.access_order.ordered import ordered_launch
    from metronome.sim.analysis.code.refusals import RefusedError
    from metronome.sim.program.elf import ImageError

    try:
        return ordered_launch(config, request, launch)
    except RefusedError as error:
        raise UsageError(
            f"{launch.name}: channels=ordered needs a list of its accesses, and there is none:"
            f" {refusal(launch.image, error)}"
        ) from None
    except ImageError as error:
        raise UsageError(str(error)) from None


def with_parameters_of(command: Callable[..., int], *, without: Sequence[str]) -> Callable[[Callable], Callable]:
    """A decorator: the command also has the parameters of another one, but for some; they come as keywords."""
    theirs = inspect.signature(command, eval_str=True).parameters

    def widen(function: Callable) -> Callable:
        mine = inspect.signature(function, eval_str=True).parameters
        parameters = [mine["ctx"]]
        parameters += [each for name, each in theirs.items() if name != "ctx" and name not in without]
        parameters += [
            each.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for name, each in mine.items()
            if name != "ctx" and each.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        function.__signature__ = inspect.Signature(parameters, return_annotation=int)  # type: ignore[attr-defined]
        function.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": int}
        return function

    return widen
