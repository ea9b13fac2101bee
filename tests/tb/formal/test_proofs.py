"""The contract of the front end (design.md section 3), proved by induction; a few cases here, the rest `long`."""

import re

import pytest

from metronome.tb.formal.flow import Case, prove
from metronome.tb.formal.matrix import cases, quick_cases
from tests.support.tiers import some_long, some_more

QUICK = quick_cases()
#: `make test-more`: each property of each scheme with two warps. What a policy does is proved by tables, too
#: (test_tables.py).
FIRST = [case for case in QUICK if case.warps == 2 and case.policy == "lrr" and case.prediction != "not_taken"]
#: Those in `make test`: P4 takes the solver six seconds.
TESTED = [case for case in FIRST if case.icache and case.scheme == "swas" and case.property in ("P1", "P3", "P5", "P7")]
LONG = [case for case in cases() if case not in QUICK]
#: The size of Crouzet 2024, and half of it.
LARGE = cases(schemes=["swas"], policies=["lrr"], warps=[16, 32])


def name(case: Case) -> str:
    counters = "-counters" * (case.property == "P8" and bool(case.parameters))
    return f"{case.property}-{case.scheme}-{case.policy}-{case.prediction}-{case.warps}{counters}"


def check(case: Case) -> None:
    proof = prove(case)
    assert proof.result == "pass", f"{name(case)}: {proof.result}, {proof.counterexample}"
    assert (proof.method, proof.depth) == ("induction", 1)


@pytest.mark.slow
@pytest.mark.parametrize("case", [
    pytest.param(case, marks=[pytest.mark.more if case in FIRST else pytest.mark.long] * (case not in TESTED))
    for case in QUICK
], ids=name)
def test_quick(case):
    check(case)


@pytest.mark.long
@pytest.mark.parametrize("case", LONG, ids=name)
def test_all(case):
    check(case)


#: Parameters that a configuration does not have by default.
OTHERS = [
    case for policy, warps, parameters in (
        ("two_level", [4], {"group_warps": 1}), ("two_level", [8], {"group_warps": 2}),
        ("variable_rate", [2], {"rates": (3, 1)}), ("variable_rate", [4], {"rates": (0, 5, 2, 1)}),
        ("variable_rate", [8], {"rates": (9, 1, 4, 2)}), ("variable_rate_strict", [4], {"rates": (5, 3, 2, 1)}),
        ("variable_rate_strict", [8], {"rates": (1, 30)}),
        ("ccws", [2, 4], {"locality_base": 3, "locality_throttle": 64}),
    ) for case in cases(["P3"], ["swas"], [policy], ["btfn"], warps, parameters=parameters)
]


@pytest.mark.more
@pytest.mark.parametrize("case", some_long(OTHERS, 1), ids=lambda case: f"{name(case)}-{case.parameters}")
def test_other_parameters(case):
    check(case)


#: Parameters that the program changes, what and whenever it will.
CHANGES = [
    case for warps in (2, 4, 8) for prediction in ("btfn", "not_taken")
    for case in cases(["P3"], ["swas"], ["two_level", "variable_rate", "variable_rate_strict", "ccws"], [prediction],
                      [warps], parameters={"policy_csr": True})
]
CHANGES += cases(["P3"], ["baseline", "vortex"], ["two_level", "ccws"], ["btfn"], [4], parameters={"policy_csr": True})


@pytest.mark.more
@pytest.mark.parametrize("case", some_more(some_long(CHANGES, 4), 1), ids=lambda case: f"{name(case)}-changes")
def test_parameters_that_change(case):
    check(case)


@pytest.mark.long
@pytest.mark.parametrize("case", LARGE, ids=name)
def test_large(case):
    check(case)


@pytest.mark.more
@pytest.mark.parametrize("left", some_long(["[]", "", "garbage", "{}"], 1))
def test_a_damaged_entry_is_proved_again(left, tmp_path, monkeypatch):
    monkeypatch.setenv("METRONOME_CACHE", str(tmp_path))
    case = Case("P1", warps=2)
    assert not prove(case).cached
    (entry,) = tmp_path.glob("proof-*.json")
    assert prove(case).cached
    entry.write_text(left)
    again = prove(case)
    assert (again.result, again.cached) == ("pass", False)


@pytest.mark.parametrize(("case", "text"), [
    ({"property": "P12"}, "property must be one of P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, not 'P12'"),
    ({"property": "P9"}, "schedulers must be 2 or 4 for P9, not 1"),
    ({"property": "P9", "policy": "gto", "parameters": (("schedulers", 2),)}, "policy must be lrr for P9, not 'gto'"),
    ({"property": "P6", "policy": "gtlo"}, "policy must be lrr for P6, not 'gtlo'"),
    ({"property": "P1", "scheme": "vortex"}, "scheme must be swas for P1, not 'vortex'"),
    ({"property": "P4", "scheme": "vortex"}, "prediction must be private for P4 of vortex, not 'not_taken'"),
    ({"property": "P8", "prediction": "btfn"}, "prediction must be private for P8, not 'btfn'"),
])
def test_what_is_no_case(case, text):
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        Case(**case)
