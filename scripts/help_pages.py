"""Last section of each help page: examples, and the meaning of the exit status."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from rich.markup import escape

__all__ = ["EXAMPLES", "epilog", "prepare"]

#: Modules, each with its class, that typer's help pages import and ours do not need: half the time of a page.
_UNUSED = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}

#: Subcommand -> useful example commands, each with its description.
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "kernels": (("metronome kernels", "all kernels"),),
    "new": (
        ("metronome new mine", "kernel.c and host.py"),
        ("metronome run ./mine --check", "it passes"),
        ("metronome new --policy burst", "a warp policy, and a test"),
        ("metronome run psort --issue ./burst.py", "on hardware"),
    ),
    "run": (
        ("metronome run psort --check", "ours, in lock step"),
        ("metronome run ./mine --type float32", "your folder"),
        ("metronome run my.c --cflags '-O3 -DN=4'", "exit code decides"),
        ("metronome run my.cl --kernel scan", "OpenCL, with a host.py"),
        ("metronome run psort --set icache_bytes=1024", "another machine"),
        ("metronome run psort --config my.toml --json -", "one from a file"),
    ),
    "predict": (
        ("metronome predict psort --preset PAPER", "no hardware to build"),
        ("metronome predict psort --issue gto --json -", "the same JSON as run"),
        ("metronome predict ./mine --issues issues.csv", "every issue and its cycle"),
    ),
    "trace": (
        ("metronome trace psort -o psort.csv", "a row an event"),
        ("metronome trace ./mine -o mine.parquet --engine predict", "computed"),
        ("metronome trace psort -o f.svg --from 1500 --to 1560", "a figure"),
        ("metronome trace --diff a.html b.html -o both.html", "two runs"),
    ),
    "wcet": (
        ("metronome wcet vecadd", "exact: inputs do not matter"),
        ("metronome wcet psort --observe 100", "a bound, and the slowest run"),
        ("metronome wcet psort --range source=0..9", "a range of the inputs"),
        ("metronome wcet my.c --flow-facts my.ffx", "bounds of loops"),
        ("metronome wcet psort --memory tdm --json -", "memory of bounded latency"),
    ),
    "analyze": (
        ("metronome analyze sgemm", "accesses, hits and misses by pc"),
        ("metronome analyze sgemm --cache 64K/8", "another data cache"),
        ("metronome analyze sgemm --order sgemm.order", "for the hardware"),
    ),
    "characterize": (
        ("metronome characterize", "the latencies of BASE"),
        ("metronome characterize --set latency_mul=6", "it measures 6"),
        ("metronome characterize --preset TINY --engine rtl", "the hardware"),
        ("metronome characterize --models --warps 1", "compares timing models"),
    ),
    "build": (
        ("metronome build my.c -o my.elf", "then: metronome run my.elf"),
        ("metronome build psort --type float32", "writes psort.elf"),
        ("metronome build psort --image psort.hex", "for a testbench"),
    ),
    "sweep": (
        ("metronome sweep psort", "baseline and swas"),
        ("metronome sweep psort --set icache_bytes=1K,4K", "one field, two values"),
        ("metronome sweep psort --mode swas --issue lrr,gto", "two policies"),
        ("metronome sweep paper --dry-run", "an experiment"),
    ),
    "report": (
        ("metronome report results", "writes results.html"),
        ("metronome report results --baseline lrr", "speed-ups over lrr"),
        ("metronome report before --diff after -o change.html", "run by run"),
        ("metronome report --bounds a.json --bounds b.json", "of metronome wcet"),
    ),
    "config": (
        ("metronome config", "every field of BASE"),
        ("metronome config --set dcache_bytes=0 -o my.toml", "a file for --config"),
    ),
    "verilog": (
        ("metronome verilog --preset TINY -o export", "a folder, for other tools"),
        ("metronome verilog --preset TINY -o sm.v", "one file, packed ports"),
        ("metronome verilog --mode baseline --issue gtlo", "one policy"),
    ),
    "synth": (
        ("metronome synth --unit frontend --preset MID", "takes some minutes"),
        ("metronome synth --unit alu --area --cells", "without place and route"),
        ("metronome synth --breakdown --preset TINY", "part by part"),
        ("metronome synth --price --only '*-2-*'", "the front ends compared"),
    ),
    "board": (
        ("metronome board --output ulx3s", "a bitstream: one to three hours"),
        ("metronome board vecadd --port /dev/ttyUSB0", "on the board"),
        ("metronome board psort --port rtl", "on a simulated board"),
    ),
    "prove": (
        ("metronome prove --quick", "a minute or two"),
        ("metronome prove --property P1 --warps 2", "one property of one size"),
    ),
    "grade": (
        ("metronome new --course mine", "the skeleton"),
        ("metronome grade mine.py", "points, first wrong pick"),
        ("metronome grade submissions --json all.json", "a folder, in one table"),
        ("metronome grade mine.py --task 1 --json -", "one task, as JSON"),
        ("metronome grade --make-reference new.json", "for instructors"),
    ),
    "bench": (
        ("metronome bench --preset TINY,BASE", "cycles a second, and per loop"),
        ("metronome bench --json before.json", "before a change"),
        ("metronome bench --compare before.json", "the cost of a change"),
    ),
    "cache": (("metronome cache", "list its entries"), ("metronome cache --prune --older-than 30", ("remove old "
                                                                                                   "entries"))),
}
_ALWAYS = "2 wrong usage, 70 a defect in metronome, 130 interrupted"
_RUN = "0 passed, 1 check or exit code failed, 3 fault, 4 cycle limit or deadlock"
_STATUS = {
    "synth": "0 done, 1 an area has grown (--compare), 5 not routed, 6 slower than --freq",
    "board": f"{_RUN}, 5 not routed, 6 slower than the board's clock",
    "wcet": "0 bounded, 1 a run was longer than the bound",
    "characterize": "0 as configured, 1 a measured number differs",
    "analyze": "0 done, 1 the hardware has another order or other misses (--verify)",
    "run": _RUN, "predict": _RUN, "trace": _RUN, "bench": f"{_RUN}, 5 not routed (--synth)",
    "sweep": f"{_RUN} (highest); experiments: 0 or 1",
    "prove": "0 all proved (--broken: all refuted), 1 not all",
    "grade": "0 all submissions have all points, 1 not all; 2 also if one has an error",
}


def epilog(name: str) -> str:
    """Return the text for this subcommand, in rich's markup."""
    width = max(len(command) for command, _ in EXAMPLES[name])
    lines = ["[bold]Examples[/]"]
    lines += [f"  {escape(command):{width}}  [dim]{escape(about)}[/]" for command, about in EXAMPLES[name]]
    return "\n".join([*lines, "", "[bold]Exit status[/]", f"  {_STATUS.get(name, '0 done')},", f"  {_ALWAYS}"])


def prepare() -> None:
    """Import the modules that draw a help page, with stand-ins for those that our pages do not use."""
    stand_ins = {name: ModuleType(name) for name in _UNUSED if name not in sys.modules}
    for name, module in stand_ins.items():
        setattr(module, _UNUSED[name], type(_UNUSED[name], (), {}))
    sys.modules.update(stand_ins)
    try:
        importlib.import_module("typer.rich_utils")
    finally:
        for name in stand_ins:
            del sys.modules[name]
