"""Results reported by the papers (papers.toml, which gives the place in the paper for each number)."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["change_class", "change_in_paper", "papers"]


@functools.cache
def papers() -> Mapping[str, Any]:
    """Return the file's tables."""
    return tomllib.loads(Path(__file__).with_name("papers.toml").read_text("utf-8"))


def change_class(change: float) -> int:
    """The interval in Magalhães 2025, Table 1, of a change (%): 0 largest increase, 4 no change, 8 largest decrease."""
    first, second, third, _, _, *greens = papers()["magalhaes"]["intervals"]["limits"]
    if change == 0:
        return 4
    if change > 0:
        return sum(change <= limit for limit in (first, second, third))
    return 5 + sum(change <= limit for limit in greens)


def change_in_paper(kernel: str, policy: str, machine: tuple[int, int], size: int) -> float | None:
    """The change in % in Magalhães 2025, Table 2, for the experiment that corresponds to a run, if there is one."""
    table = papers()["magalhaes"]
    sizes, machines = table["sizes"].get(kernel, []), table["machines"]
    if size not in sizes or list(machine) not in machines or policy not in table["policies"]:
        return None
    column = len(machines) * table["policies"].index(policy) + machines.index(list(machine))
    return table["changes"][kernel][sizes.index(size)][column]
