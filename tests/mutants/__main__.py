"""One-line bugs that only move a cycle, swap a priority, lose a turn or a place, or miscount; and who must find each.

``python -m tests.mutants`` lists them, ``python -m tests.mutants NUMBER ..`` puts one after the other
into the design and runs the tests that must fail with it. ``python -m tests.mutants all`` runs all.
"""

import subprocess
import sys
from dataclasses import dataclass, field

import pytest

from metronome.sim.build import verilog
from metronome.sim.build.sources import ROOT
from metronome.tb.formal.patched import patched
from tests.mutants.table import MUTANTS, Mutant

__all__ = ["Outcome", "run"]


@dataclass(eq=False)  # pytest wants its plugins hashable
class Outcome:
    """What became of the tests with a mutant. A design that cannot even be built is no finding."""

    failed: list[str] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo) -> None:
        if call.when == "call" or call.excinfo is not None:
            error = None if call.excinfo is None else call.excinfo.value
            kind = "passed" if error is None else "other"
            if isinstance(error, AssertionError | pytest.fail.Exception):
                kind = "failed"
            getattr(self, kind).append(item.nodeid)

    def found(self, mutant: Mutant) -> bool:
        """Each of the tests that were named has failed, and for no other reason than an assertion."""
        return len(self.failed) == len(mutant.found_by) and not self.passed and not self.other


def run(mutant: Mutant) -> Outcome:
    """Run the mutant's tests with it, in this process: what was elaborated before must not be used again."""
    outcome = Outcome()
    arguments = ["-q", "--tb=no", "--no-header", "-p", "no:cacheprovider", "-m", "long or not long"]
    # The cache knows the Verilog by its sources, which are not the mutant's: simulations are built from the Verilog.
    with patched(mutant.name, mutant.method, mutant.old, mutant.new), pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(verilog, "outside", lambda config: True)
        pytest.main([*arguments, *(str(ROOT / test) for test in mutant.found_by)], plugins=[outcome])
    return outcome


def main(names: list[str]) -> int:
    if not names:
        for number, mutant in enumerate(MUTANTS):
            print(f"{number:3} {mutant.name}: {', '.join(mutant.found_by)}")
        return 0
    numbers = [str(number) for number in range(len(MUTANTS))] if names == ["all"] else names
    wrong = [name for name in numbers if not name.isdecimal() or int(name) >= len(MUTANTS)]
    if wrong:
        print(f"no such mutant: {wrong[0]}; they are 0 to {len(MUTANTS) - 1}", file=sys.stderr)
        return 2
    if len(numbers) > 1:
        # A process each: the tests keep what they have elaborated.
        return max([subprocess.call([sys.executable, "-m", "tests.mutants", name], cwd=ROOT) for name in numbers])
    mutant = MUTANTS[int(numbers[0])]
    found = run(mutant).found(mutant)
    print(f"{numbers[0]:>3} {'found' if found else 'NOT FOUND'}: {mutant.name}", flush=True)
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
