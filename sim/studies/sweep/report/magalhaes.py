"""Magalhães 2025 compared with our results: Table 2 in its colours, and figures 2 and 3."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ....show.drawing import charts
from ....show.drawing.palette import FAMILIES
from . import cells
from .data import Row, grouped
from .differences import differences
from .model import Cell, Column, Figure, Numbers, Section, Table
from .papers import change_class, change_in_paper, papers

__all__ = ["Experiment", "experiments", "magalhaes_sections", "wins"]

_PAPER = "magalhaes"
_COLOURS = {"gto": FAMILIES[0][1], "pta": FAMILIES[2][1]}


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A workload on a machine with a policy, compared with round robin."""

    machine: str
    policy: str
    row: Row
    base: Row

    @property
    def change(self) -> float:
        """The change in cycles, in %."""
        return 100 * (self.row.cycles - self.base.cycles) / self.base.cycles

    @property
    def latency_change(self) -> float | None:
        """The change in the accumulated latency of the loads, in %."""
        ours, theirs = self.row.load_cycles, self.base.load_cycles
        return None if ours is None or not theirs else 100 * (ours - theirs) / theirs

    @property
    def paper(self) -> float | None:
        """The change that the paper reports for it."""
        size = (self.row["config.warps"], self.row["config.threads"])
        return change_in_paper(self.row.kernel, self.policy, size, self.row["config.size"])


def experiments(rows: Sequence[Row]) -> list[Experiment]:
    """Pair each GTO or PTA run with its round robin run, if there is one; nothing else in ``rows`` differs."""
    base = {(row.machine, row.workload): row for row in rows if row.fetch == papers()[_PAPER]["base"]}
    names = _machine_names(rows)
    rows = sorted(rows, key=lambda row: (row["config.warps"], row["config.threads"]))
    return [
        Experiment(names[row.machine], policy, row, base[row.machine, row.workload])
        for policy in papers()[_PAPER]["policies"] for row in rows
        if row.fetch == policy and (row.machine, row.workload) in base
    ]


def _machine_names(rows: Sequence[Row]) -> dict[str, str]:
    """Machine -> 8W8T, as in the paper, unless two machines have the same size."""
    short = {row.machine: f"{row['config.warps']}W{row['config.threads']}T" for row in rows}
    return short if len(set(short.values())) == len(short) else {machine: machine for machine in short}


def magalhaes_sections(rows: Sequence[Row]) -> tuple[list[Section], set[str]]:
    """Return a section for each pair of issue policy and prediction, and the runs it shows."""
    known = papers()[_PAPER]["changes"]
    ours = [
        row for row in rows if row.kernel in known and row.mode == "vortex"
        and row.fetch in (papers()[_PAPER]["base"], *papers()[_PAPER]["policies"])
    ]
    groups = grouped(ours, lambda row: (row.issue, row.prediction))
    sections: list[Section] = []
    shown: set[str] = set()
    for (issue, prediction), alike in groups.items():
        found = experiments(alike)
        if found:
            name = _PAPER + (f"-{len(sections) + 1}" if sections else "")
            what = f" ({issue} issue, {prediction})" if len(groups) > 1 else ""
            sections.append(_section(found, name, what))
            shown |= {row["run"] for each in found for row in (each.row, each.base)}
    return [*sections, *[differences(_PAPER, [])] * bool(sections)], shown


def _section(found: Sequence[Experiment], name: str, what: str) -> Section:
    about = (
        f"{papers()[_PAPER]['cite']}. {len(found)} comparisons with round robin (lrr), by the policy that selects a "
        "warp to fetch. Fewer cycles are better, so a negative change is a gain. 8W8T means 8 warps of 8 threads."
    )
    return Section(name, "Magalhães 2025: GTO and PTA against round robin" + what, [
        about, _intervals(name), _table_2(found, name), _wins_figure(found, name), _wins_table(found, name),
        *_latency_figure(found, name),
    ])


def _intervals(name: str) -> Table:
    intervals = papers()[_PAPER]["intervals"]["names"]
    return Table(
        f"{name}-table-1", "Colours of the changes",
        "The nine intervals of a change x. Each includes its upper limit but not its lower one; the paper leaves "
        "most limits open.", "Magalhães 2025, Table 1",
        [Column("interval", text=True)],
        [[cells.text(text, f"change-{place}")] for place, text in enumerate(intervals)],
    )


def _change_cell(change: float | None) -> Cell:
    return cells.change(change, "" if change is None else f"change-{change_class(change)}")


def _table_2(found: Sequence[Experiment], name: str) -> Table:
    machines = list(dict.fromkeys(each.machine for each in found))
    policies = [policy for policy in papers()[_PAPER]["policies"] if any(each.policy == policy for each in found)]
    known = {(each.policy, each.machine) for each in found if each.paper is not None}
    groups = [(policy, machine) for policy in policies for machine in machines]
    columns = [Column("program", text=True), Column("size")]
    columns += [
        Column(source, f"{policy.upper()} {machine}") for policy, machine in groups
        for source in ("ours", *["paper"] * ((policy, machine) in known))
    ]
    rows = []
    for workload, alike in grouped(found, lambda each: each.row.workload).items():
        first = alike[0].row
        row = [cells.text(workload.split()[0]), cells.count(first["config.size"])]
        for group in groups:
            each = next((one for one in alike if (one.policy, one.machine) == group), None)
            ours, theirs = (each.change, each.paper) if each is not None else (None, None)
            row += [_change_cell(ours), *[_change_cell(theirs)] * (group in known)]
        rows.append(row)
    return Table(
        f"{name}-table-2", "Change of the cycles against round robin",
        "Cycles of a run with GTO or PTA against the same run with round robin, in %: ours, and the paper's for the "
        "input that corresponds to ours. Green is fewer cycles. A dash: no such run, or nothing in the paper "
        "corresponds to it.", "Magalhães 2025, Table 2", columns, rows,
    )


def wins(found: Sequence[Experiment]) -> dict[tuple[str, str], tuple[int, int]]:
    """(machine, policy) -> number of experiments with fewer cycles than round robin, and number of all."""
    return {
        key: (sum(each.change < 0 for each in alike), len(alike))
        for key, alike in grouped(found, lambda each: (each.machine, each.policy)).items()
    }


def _paper_wins() -> dict[tuple[str, str], tuple[int, int]]:
    """The same for Table 2 of the paper."""
    table = papers()[_PAPER]
    counts = {}
    for place, policy in enumerate(table["policies"]):
        for column, (warps, threads) in enumerate(table["machines"]):
            changes = [row[place * 3 + column] for rows in table["changes"].values() for row in rows]
            counts[f"{warps}W{threads}T", policy] = (sum(change < 0 for change in changes), len(changes))
    return counts


def _wins_values(found: Sequence[Experiment]) -> list[dict[str, Any]]:
    values = []
    for source, counts in (("ours", wins(found)), ("Magalhães 2025, counted in its Table 2", _paper_wins())):
        for (machine, policy), (won, of) in counts.items():
            values.append({
                "group": machine, "series": policy, "value": won, "of": of, "panel": source,
                "said": f"{source}, {machine}, {policy}: {won} of {of}",
            })
    return values


def _wins_figure(found: Sequence[Experiment], name: str) -> Figure:
    values = _wins_values(found)
    return Figure(
        f"{name}-figure-2", "Experiments with fewer cycles than round robin",
        "How many of the experiments on each machine need fewer cycles with GTO or PTA than with round robin; above "
        "ours, below the paper's, each of 32 there.",
        "after Magalhães 2025, figure 2",
        charts.bars(values, series=_COLOURS, title="experiments", legend="policy", groups_are="machine",
                    height=130),
        Numbers(("source", "machine", "policy", "fewer cycles", "of"),
                [(each["panel"], each["group"], each["series"], each["value"], each["of"]) for each in values]),
    )


def _wins_table(found: Sequence[Experiment], name: str) -> Table:
    ours, theirs = wins(found), _paper_wins()
    rows = []
    for machine, policy in sorted({**theirs, **ours}, key=lambda pair: pair[1]):
        mine, paper = ours.get((machine, policy)), theirs.get((machine, policy))
        rows.append([cells.text(policy.upper()), cells.text(machine), *_part(mine), *_part(paper)])
    for policy in papers()[_PAPER]["policies"]:
        totals = [
            tuple(map(sum, zip(*(pair for (_, each), pair in counts.items() if each == policy), strict=True)))
            for counts in (ours, theirs)
        ]
        rows.append([cells.text(policy.upper()), cells.text("all"), *_part(totals[0] or None), *_part(totals[1])])
    rows.append([cells.text("PTA better than GTO"), cells.text("all"), *_part(_pta_better(found)),
                 *_part((papers()[_PAPER]["text"]["pta_better_than_gto"], 96))])
    return Table(
        f"{name}-wins", "Counts of gains",
        "Experiments with fewer cycles than round robin, and all experiments. The last line counts those in which "
        "PTA needs fewer cycles than GTO.", "Magalhães 2025, section 6.1 and Table 2",
        [Column("policy", text=True), Column("machine", text=True),
         *(Column(heading, source) for source in ("ours", "paper") for heading in ("fewer cycles", "of", "share"))],
        rows,
    )


def _part(pair: Sequence[int] | None) -> list[Cell]:
    if not pair:
        return [cells.UNKNOWN] * 3
    won, of = pair
    return [cells.count(won), cells.count(of), cells.share(won, of)]


def _pta_better(found: Sequence[Experiment]) -> tuple[int, int] | None:
    gto = {(each.machine, each.row.workload): each.row.cycles for each in found if each.policy == "gto"}
    pairs = [
        (each.row.cycles, gto[each.machine, each.row.workload]) for each in found
        if each.policy == "pta" and (each.machine, each.row.workload) in gto
    ]
    return (sum(ours < theirs for ours, theirs in pairs), len(pairs)) if pairs else None


def _latency_figure(found: Sequence[Experiment], name: str) -> list[Figure]:
    values = []
    for each in [each for alike in grouped(found, lambda one: one.machine).values() for each in alike]:
        change = each.latency_change
        said = f"{each.machine}, {each.row.workload}, {each.policy}"
        direction = "the same" if not change else "less" if change < 0 else "more"
        marks = {} if change is None else {
            "mark": change, "direction": direction, "mark_said": f"{said}: load latency {change:.6g} %",
        }
        values.append({
            "group": each.row.workload, "series": each.policy, "panel": each.machine, "value": each.change,
            "said": f"{said}: cycles {each.change:.6g} %", **marks,
        })
    if not any("mark" in value for value in values):
        return []
    return [Figure(
        f"{name}-figure-3", "Cycles and load latency against round robin",
        "Bars: change of the cycles against round robin, in % (down is better). Marks: change of the latencies of all "
        "loads added up, in %: a green triangle that points down is less, a red one that points up is more, a grey "
        "circle is no change. A panel is a machine.",
        "after Magalhães 2025, figure 3",
        charts.change_bars(values, series=_COLOURS, title="change, %", groups_are="workload"),
        Numbers(("machine", "workload", "policy", "cycles, %", "load latency, %"), [
            (each["panel"], each["group"], each["series"], each["value"], each.get("mark")) for each in values
        ]),
    )]
