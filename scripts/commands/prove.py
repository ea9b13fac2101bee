"""``metronome prove``: prove the front end's contract for the modules that are built."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metronome.hdl.config import Coordination, Prediction, SmConfig
from metronome.hdl.gpu.config import Dispatch, Interconnect, L2Kind
from metronome.hdl.isa.sharing import PARTITIONS
from metronome.hdl.presets import PIPELINES
from metronome.sim.machine.conditions import without_effect
from metronome.sim.machine.gpu_settings import GPU_FIELDS, L2_SIZES, gpu_of, gpu_value
from metronome.sim.machine.policies.files import loaded
from metronome.sim.machine.settings import ConfigError, parse

from ..options.common import JsonOption, choose, json_target, listed
from ..options.machine import PipelineOption
from ..options.schemes import POLICY_NAMES, listed_policies, policy_of, require_hardware
from ..output.outputs import STDOUT, write_json
from ..output.tables import new_table
from ..process.errors import Exit, UsageError
from ..process.progress import show_progress
from ..process.terminal import Console

if TYPE_CHECKING:
    from metronome.tb.formal.flow import Case, Proof
    from metronome.tb.formal.witness import Counterexample

__all__ = ["prove"]

#: A warp number of SmConfig; a single warp has no other to be scheduled against.
_MIN_WARPS, _MAX_WARPS = 2, 64
#: The fields of SmConfig that are parameters of policies, the one by which programs change them, the sizes of the
#: predictors, those of several partitions, and those of a GPU.
_PARAMETERS = ("group_warps", "rates", "locality_base", "locality_throttle", "policy_csr", "return_stack",
               "jump_targets", "branch_runs", "two_bit", *PARTITIONS, *GPU_FIELDS)
_TAKEN = f"{', '.join(_PARAMETERS[:-1])} and {_PARAMETERS[-1]}"


def _list(metavar: str, text: str, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=text)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CaseOptions:
    """The properties to prove, and the front ends."""

    properties: Annotated[
        str | None, typer.Option("--property", metavar="P,..", help="P1 to P11 (docs/proof.md); all by default.")
    ] = None
    scheme: Annotated[
        str | None, _list("NAME,..", "swas, baseline, vortex; all that have the property.", "--scheme", "--mode")
    ] = None
    policy: Annotated[
        str | None, _list("NAME,..", f"By default all for P3, else lrr: {POLICY_NAMES}.", "--policy", "--issue")
    ] = None
    prediction: Annotated[str | None, _list("NAME,..", "not_taken, btfn, private; all by default.")] = None
    warps: Annotated[
        str | None, _list("N,..", "Sizes, 2 to 64; 2,4,8 by default, times the number of schedulers."),
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="A parameter of the policy (group_warps, ..), a size of "
                     "the predictors (return_stack, ..), of partitions (schedulers, units, ..), or of a GPU (sms, "
                     "interconnect, slot_cycles, l2, ..). Repeatable."),
    ] = None
    pipeline: PipelineOption = None
    icache: Annotated[bool, typer.Option(help="With an I-cache, or with one line buffer per warp instead.")] = True


def prove(
    *, asked: CaseOptions,
    quick: Annotated[bool, typer.Option("--quick", help="Prove the quick cases only (a minute or two).")] = False,
    broken: Annotated[
        bool,
        typer.Option(
            "--broken", help="Refute deliberately broken designs, of all properties or of those in --property.",
        ),
    ] = False,
    json_file: JsonOption = None,
) -> int:
    """Prove P1 to P11 by unbounded induction, and show a counterexample for each that does not hold."""
    from metronome.tb.formal.flow import ProofError
    from metronome.tb.formal.flow import prove as prove_one

    if broken:
        if quick or dataclasses.replace(asked, properties=None) != CaseOptions():
            raise UsageError("--broken: each broken design has its own configuration: only --property and --json "
                             "go with it")
        return _refute(asked.properties, json_file)
    todo = _quick(asked) if quick else _cases(asked)
    target = json_target(json_file)
    proofs: list[Proof] = []
    try:
        with show_progress() as progress:
            for number, case in enumerate(todo, start=1):
                progress(f"{number} of {len(todo)}: {case.property}, {case.scheme} {case.policy}, {case.prediction}, "
                         f"{case.warps} warps")
                proofs.append(prove_one(case))
    except ProofError as error:
        raise UsageError(str(error)) from error
    # Open the table first, so that a file that cannot be written after all does not cost the results.
    if json_file != STDOUT:
        _print(proofs)
    if json_file is not None:
        write_json(target, {"proofs": [proof.as_json() for proof in proofs]})
    return Exit.PASSED if all(proof.result == "pass" for proof in proofs) else Exit.CHECK_FAILED


def _refute(properties: str | None, json_file: str | None) -> int:
    """Show each broken design with its counterexample; pass if every design has one."""
    from metronome.tb.formal.broken import BROKEN, refute
    from metronome.tb.formal.flow import ProofError
    from metronome.tb.formal.properties import PROPERTIES

    chosen = _chosen("--property", properties, tuple(PROPERTIES))
    todo = [its for its in BROKEN if chosen is None or its.property in chosen]
    target = json_target(json_file)
    try:
        with show_progress() as progress:
            found = []
            for its in todo:
                progress(f"{its.property}: {its.name}")
                found.append(refute(its))
    except ProofError as error:
        raise UsageError(str(error)) from error
    if json_file is not None:
        rows = [{"property": its.property, "name": its.name, "refuted": trace is not None,
                 "counterexample": None if trace is None else trace.as_json()}
                for its, trace in zip(todo, found, strict=True)]
        write_json(target, {"broken": rows})
    if json_file != STDOUT:
        console = Console()
        for its, trace in zip(todo, found, strict=True):
            if trace is None:
                console.print(f"\n{its.property}, {its.name}: NOT REFUTED", highlight=False)
            else:
                _show(console, f"{its.property}, {its.name}", trace)
        refuted = sum(trace is not None for trace in found)
        console.print(f"\n{refuted} of {len(todo)} broken designs refuted", highlight=False)
    return Exit.PASSED if all(trace is not None for trace in found) else Exit.CHECK_FAILED


def _quick(asked: CaseOptions) -> list[Case]:
    from metronome.tb.formal.matrix import quick_cases

    if asked != CaseOptions():
        raise UsageError("--quick selects its own cases: leave out --property, --scheme, --policy, --prediction, "
                         "--warps, --set, --pipeline and --no-icache, or --quick")
    return quick_cases()


def _cases(asked: CaseOptions) -> list[Case]:
    from metronome.tb.formal.matrix import cases
    from metronome.tb.formal.properties import PROPERTIES

    chosen = _chosen("--property", asked.properties, tuple(PROPERTIES))
    modes = _chosen("--scheme", asked.scheme, tuple(Coordination))
    policies = None if asked.policy is None else [
        policy_of("--policy", name) for name in listed_policies("--policy", asked.policy)]
    parameters, sizes = _parameters(asked), _sizes(asked.warps)
    _require_partitions(sizes or (), parameters.get("schedulers", 1))
    found = cases(
        chosen, modes, policies, _chosen("--prediction", asked.prediction, tuple(Prediction)), sizes,
        asked.icache, parameters,
    )
    if chosen is None:
        found = _with_reference(found)
        if policies is not None and "lrr" not in policies:
            print("metronome: note: left out: P6 is a property of lrr", file=sys.stderr)
    _require_built(found)
    wanted = {
        "--property": (chosen, {case.property for case in found}), "--scheme": (modes, {case.scheme for case in found}),
        "--policy": (policies, {case.policy for case in found}),
    }
    for option, (names, proved) in wanted.items():
        if missing := [name for name in names or () if name not in proved]:
            raise UsageError(f"{option} {','.join(missing)}: there is nothing to prove with the other options: P6 is a "
                             "property of --policy lrr, P8 of --prediction private, P9 of --policy lrr with "
                             "--set schedulers=2 or 4, P10 of those schedulers with turns=alternate, and all but P2, "
                             "P3 and P10 of --scheme swas (P4 also of others, with --prediction private). P11 alone is "
                             "a property of --set sms=2, 4, 8 or 16")
    for text in asked.settings or ():
        if needs := without_effect(text.partition("=")[0], [case.config() for case in found]):
            raise UsageError(f"--set {text}: it has no effect without {needs}")
    return found


def _require_built(found: Sequence[Case]) -> None:
    """Raise UsageError if there is no such hardware."""
    for case in found:
        try:
            require_hardware(case.config())
            if case.property == "P11":
                case.gpu()
        except UsageError:
            raise
        except ValueError as error:
            raise UsageError(f"{case.policy} with {case.warps} warps: {error}") from None


def _require_partitions(sizes: Sequence[int], schedulers: int) -> None:
    """Raise UsageError if a partition would have fewer than two warps."""
    least = _MIN_WARPS * schedulers
    for warps in sizes:
        if warps < least:
            raise UsageError(f"--warps: {warps} leaves a partition one warp or none: at least {least} with "
                             f"schedulers={schedulers}")


def _with_reference(found: list[Case]) -> list[Case]:
    """Leave out P3 of those policies from files for which it cannot be proved, and say so."""
    from metronome.tb.formal.tables import no_reference

    kept, notes = [], []
    for case in found:
        line = None
        if case.property == "P3" and loaded([case.policy]):
            line = no_reference(case.config().partition, case.policy)
        if line is None:
            kept.append(case)
        else:
            notes.append(line)
    for line in dict.fromkeys(notes):
        print(f"metronome: note: left out: {line}", file=sys.stderr)
    return kept


def _chosen(option: str, text: str | None, built: tuple[str, ...]) -> list[str] | None:
    return None if text is None else [choose(option, name, built) for name in listed(option, text)]


def _parameters(asked: CaseOptions) -> dict[str, Any]:
    """Return the fields of --set that a proof takes, and those of --pipeline; others would change what is proved."""
    found: dict[str, Any] = {} if asked.pipeline is None else {
        **PIPELINES[choose("--pipeline", asked.pipeline, PIPELINES)]}
    for text in asked.settings or ():
        name, _, value = text.partition("=")
        if name not in _PARAMETERS:
            raise UsageError(f"--set {text}: a proof takes {_TAKEN} only, e.g. group_warps=2")
        try:
            found[name] = gpu_value(name, value, as_text=True) if name in GPU_FIELDS else parse(name, value)
        except ConfigError as error:
            raise UsageError(f"--set {text}: {error}") from None
    return _with_gpu(found)


def _with_gpu(found: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with those of a GPU as it takes them. Raise UsageError if one has no effect, or is refused."""
    usual = {"interconnect": Interconnect.TDM.value} if "sms" in found else {}
    gpu = {name: found.pop(name) for name in GPU_FIELDS if name in found}
    try:
        made = gpu_of(SmConfig(), usual | gpu if gpu.get("sms") != 1 else gpu)
    except ConfigError as error:
        raise UsageError(f"--set: {error}") from None
    if made is None:
        return found
    if made.l2 is L2Kind.SHARED:
        raise UsageError("--set: P11 takes l2=none or divided: in a shared one, SMs replace each other's lines")
    if made.dispatch is Dispatch.DYNAMIC:
        raise UsageError("--set: P11 takes dispatch=none or static: with dynamic, blocks go to the first SM that asks")
    return found | {name: getattr(made, name) for name in gpu}


def _sizes(text: str | None) -> list[int] | None:
    if text is None:
        return None
    sizes = []
    for word in listed("--warps", text):
        if not (word.isascii() and word.isdigit() and _MIN_WARPS <= int(word) <= _MAX_WARPS):
            raise UsageError(f"--warps: {word!r} is not a number from {_MIN_WARPS} to {_MAX_WARPS}")
        sizes.append(int(word))
    return sizes


def _slot(proof: Proof) -> str:
    parameters = dict(proof.case.parameters)
    slot = parameters.get("slot_cycles")
    return ("" if slot is None else f" slot {slot}") + (" L2" if _has_l2(proof) else "")


def _has_l2(proof: Proof) -> bool:
    return dict(proof.case.parameters).get("l2") is L2Kind.DIVIDED


#: The columns fit a terminal of 80 characters.
_ROW: dict[str, Callable[[Proof], str]] = {
    "property": lambda proof: proof.case.property + ("" if proof.case.icache else " lines") + (
        " counters" if dict(proof.case.parameters).get("two_bit") else "") + (
        f" of {proof.case.partition}" if proof.case.property in ("P10", "P11") else "") + _slot(proof),
    "scheme": lambda proof: proof.case.scheme,
    "policy": lambda proof: proof.case.policy,
    "prediction": lambda proof: proof.case.prediction,
    "W": lambda proof: str(proof.case.warps),
    "method": lambda proof: f"{proof.method} {proof.depth}",
    "seconds": lambda proof: f"({proof.seconds:.1f})" if proof.cached else f"{proof.seconds:.1f}",
    "result": lambda proof: proof.result,
}


def _print(proofs: list[Proof]) -> None:
    """Print a row for each proof, then the counterexample of each that failed."""
    console = Console()
    table = new_table(*(f">{title}" if title in ("W", "seconds") else title for title in _ROW), tight=True)
    for proof in proofs:
        table.add_row(*(cell(proof) for cell in _ROW.values()))
    console.print(table)
    passed = sum(proof.result == "pass" for proof in proofs)
    console.print(f"{passed} of {len(proofs)} proved", highlight=False)
    if not all(proof.case.icache for proof in proofs):
        console.print("lines: one line buffer per warp instead of an I-cache.", highlight=False)
    if any(dict(proof.case.parameters).get("two_bit") for proof in proofs):
        console.print("counters: with two_bit, 4 by default.", highlight=False)
    for schedulers in sorted({proof.case.schedulers() for proof in proofs} - {1}):
        console.print(f"schedulers={schedulers}: P1 to P8 are proved of one partition, with W / {schedulers} warps, "
                      "that may have its turn in any cycle; P9 of the SM; P10 of the SM and one of its partitions.",
                      highlight=False)
    for size in dict.fromkeys(", ".join(f"{name}={getattr(proof.case.gpu(), name)}" for name in L2_SIZES)
                              for proof in proofs if _has_l2(proof)):
        console.print(f"L2: l2=divided with {size}.", highlight=False)
    if any(proof.cached for proof in proofs):
        console.print("Seconds in brackets: proved earlier, and kept in the build cache.", highlight=False)
    for proof in proofs:
        if proof.counterexample is not None:
            case = proof.case
            _show(console, f"{case.property}, {case.scheme} {case.policy}, {case.prediction}, {case.warps} warps",
                  proof.counterexample)


def _show(console: Console, what: str, found: Counterexample) -> None:
    """Print the cycles up to the violation without columns that are always empty."""
    start = "from reset" if found.reachable else "from a state that need not be reachable: the induction step fails"
    console.print(f"\n{what}: {start}", highlight=False)
    for text in found.violated:
        console.print(f"  violated in the last cycle: {text}", highlight=False, markup=False)
    shown = [n for n in range(len(found.titles)) if any(row[n] for row in found.rows)]
    table = new_table(*(found.titles[n] for n in shown), tight=True)
    for row in found.rows:
        table.add_row(*(row[n] for n in shown))
    console.print(table)
