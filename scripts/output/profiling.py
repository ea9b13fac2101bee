"""``--profile`` of ``metronome run`` and ``metronome predict``: where the cycles of the measured region went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from ..process.terminal import Console
from .tables import new_table

if TYPE_CHECKING:
    from metronome.hdl.config import SmConfig
    from metronome.sim.program.elf import ElfImage
    from metronome.sim.show.trace.summary import Sum, Summary

__all__ = ["Counted", "ProfileOption", "print_profile"]

ProfileOption = Annotated[
    bool, typer.Option("--profile", help="Also print the region's cycles by source line and by use.")
]
#: Lines of the table; the JSON has all.
_HOTTEST = 20
#: Number of uses that a line of the table names besides the issues.
_USES = 2


class Counted:
    """The cycles of a run with a profile: ``profiles`` has the sink of each SM that counts them."""

    def __init__(self, config: SmConfig, image: ElfImage, sms: int = 1) -> None:
        from metronome.sim.show.trace.profile import Profile

        self._image, self.profiles = image, [Profile(config) for _ in range(sms)]

    def summary(self) -> Summary:
        """Return the counts."""
        from metronome.sim.show.trace.summary import Summary

        return Summary(self.profiles, self._image)


def print_profile(summary: Summary) -> None:
    """Print the hottest lines as a table on standard output."""
    console = Console()
    if not summary.cycles:
        console.print("no profile: nothing was measured (docs/command-line.md, --region)", highlight=False)
        return
    shown = summary.lines[:_HOTTEST]
    unit, title = "cycles", f"where the {summary.cycles} cycles of the region went"
    if summary.sms > 1:
        unit, title = "slots", f"where the {summary.cycles} issue slots of the regions of {summary.sms} SMs went"
    elif (slots := summary.schedulers) > 1:
        cycles = summary.cycles // slots
        unit, title = "slots", f"where the {summary.cycles} issue slots of the region went: {slots} x {cycles} cycles"
    table = new_table("source line", "function", f">{unit}", ">share", ">issued", "other uses", title=title)
    table.columns[0].no_wrap = True
    for each in shown:
        line, function = each.name
        share = f"{100 * each.cycles / summary.cycles:.1f} %"
        table.add_row(
            escape(_short(line)), escape(function), str(each.cycles), share, str(each.uses["issued"]), _others(each)
        )
    rest = summary.cycles - sum(each.cycles for each in shown)
    if rest:
        name = f"{len(summary.lines) - len(shown)} more lines: --json has them"
        table.add_row(name, "", str(rest), f"{100 * rest / summary.cycles:.1f} %", "", "")
    console.print(table)


def _short(line: str) -> str:
    """Shorten a source line's path to the file and its folder."""
    return "/".join(line.split("/")[-2:])


def _others(each: Sum) -> str:
    """Return the most frequent uses of the cycles without an issue."""
    others = [f"{use} {count}" for use, count in each.uses.most_common() if use != "issued"]
    return ", ".join(others[:_USES]) + (", ..." if len(others) > _USES else "")
