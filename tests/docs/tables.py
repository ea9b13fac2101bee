"""The tables of the pages that come from the sources: ``python -m tests.docs.tables`` writes them into the pages.

A page is found by its name, and a table by its first line, which is made together with the others.
"""

from collections.abc import Callable, Iterable

from metronome.hdl.bus.register_table import COUNTERS_OFFSET, register_table
from metronome.hdl.presets import BASE
from metronome.sim.fpga.synth.committed import UnitRow, read_figures
from tests.docs import scaling
from tests.docs.pages import ROOT

#: The machine of the table of units, and the options of `metronome synth` for another.
_USUAL = {"preset": "MID", "prediction": "not_taken", "issue": "gtlrr", "mode": "swas"}
_OPTIONS = {"preset": "--preset", "prediction": "--prediction", "issue": "--policy", "mode": "--mode"}
#: What is in some of the parts, and the least LUTs of a part of a part that has a row.
_ABOUT = {"lsu.l1": ": data cache, MSHRs, write buffer", "compute.float": ": FMA, FCVT, FDIV"}
_LEAST_LUTS = 400


def _table(heading: str, rows: Iterable[Iterable[object]]) -> str:
    names = [name.strip() for name in heading.split("|")]
    lines = [names, ["---"] * len(names), *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("|  |", "| |").replace("| --- ", "|---")


def registers() -> str:
    """The registers of the bus; those of the counters are two rows."""
    rows = [[f"{its.offset:#05x}", f"`{its.name}`", its.bits, its.access.value, its.about]
            for its in register_table(BASE) if its.offset < COUNTERS_OFFSET]
    halves = [("low", 32, "low half of counter i"),
              ("high", 16, "its bits 47 to 32, captured when any low half was last read")]
    rows += [[f"{COUNTERS_OFFSET + 4 * half:#05x} + 8 i", f"`NAME_{name}`", bits, "ro", about]
             for half, (name, bits, about) in enumerate(halves)]
    return _table("offset | name | bits | access | ", rows)


def _options(row: UnitRow, seed: str) -> str:
    given = {option: getattr(row, name) for name, option in _OPTIONS.items() if getattr(row, name) != _USUAL[name]}
    words = [f"{option} {value}" for option, value in given.items()]
    words += [f"--seed {seed}"] * (seed != "1")
    return f"`{' '.join(words)}`" if words else ""


def units() -> str:
    """The committed area and clock rate of units."""
    return _table("unit | options | LUTs | FFs | block RAM | Fmax, MHz | what limits it", (
        [f"`{row.unit}`", _options(row, seed), row.luts, row.ffs, row.brams,
         "not routed" if rate is None else f"{rate:.3g}", row.limit]
        for row in read_figures()[0] for seed, rate in row.fmax_mhz.items()
    ))


def parts() -> str:
    """The committed area of the parts of an SM."""
    (row,) = read_figures()[1]
    rows = []
    for path, area in row.parts.items():
        above, _, name = path.rpartition(".")
        if not above or area[0] >= _LEAST_LUTS:
            label = f"`{name}`{_ABOUT.get(path, '')}" if name else "the SM"
            rows.append(["&nbsp; " * bool(above) + label, *area])
    return _table("part | LUTs | FFs | block RAM | DSPs", rows)


#: Page of docs -> what makes its tables.
TABLES: dict[str, tuple[Callable[[], str], ...]] = {
    "bus.md": (registers,), "fpga.md": (units, parts), "gpu.md": (scaling.strong, scaling.weak),
}


def with_tables(page: str, text: str) -> str:
    """The text of the page with its tables as they are made now."""
    for make in TABLES[page]:
        made = make()
        heading = made.split("\n")[0]
        before, found, after = f"{text}\n".partition(f"\n{heading}\n")
        if not found or f"\n{heading}\n" in after:
            raise ValueError(f"{page}: one table must begin with {heading}")
        text = (f"{before}\n{made}\n\n" + after.partition("\n\n")[2]).rstrip("\n") + "\n"
    return text


def write(page: str) -> None:
    """Write the tables into the page."""
    path = ROOT / "docs" / page
    path.write_text(with_tables(page, path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    for name in TABLES:
        write(name)
