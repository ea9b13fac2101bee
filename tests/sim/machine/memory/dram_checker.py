"""Whether a sequence of DRAM commands keeps a timing table: independent of the models, which it must not import.

The table is typed again here from design.md section 5 and from JESD79-4, and every rule is a row: from which command
to which, in what scope, how many clocks at least. The rules are those of the standard's state diagram and timing
tables, for one rank, BL8 and a preamble of one clock.
"""

import bisect
from collections import defaultdict
from itertools import pairwise

#: design.md section 5: DDR4-2400 in 0.833 ns clocks.
DDR4_2400R = {
    "tRCD": 16, "tRP": 16, "CL": 16, "CWL": 12, "tRAS": 39, "tRC": 55, "tRRD_S": 4, "tRRD_L": 6, "tFAW": 26, "tWR": 18,
    "tWTR_S": 3, "tWTR_L": 9, "tRTP": 9, "tCCD_S": 4, "tCCD_L": 6, "BL": 4, "tREFI": 9364, "tRFC": 433,
}
TABLES = {
    "DDR4_2400R": DDR4_2400R,
    "DDR4_2400R_JEDEC": DDR4_2400R | {"CWL": 16, "tRFC": 421},
    "DDR4_3200AA": {
        "tRCD": 22, "tRP": 22, "CL": 22, "CWL": 16, "tRAS": 52, "tRC": 74, "tRRD_S": 4, "tRRD_L": 8, "tFAW": 34,
        "tWR": 24, "tWTR_S": 4, "tWTR_L": 12, "tRTP": 12, "tCCD_S": 4, "tCCD_L": 8, "BL": 4, "tREFI": 12480,
        "tRFC": 576,
    },
}

READS, WRITES = ("RD", "RDA"), ("WR", "WRA")
COLUMNS = READS + WRITES
#: An auto-precharge is the event AP of its bank, at the clock in which the device begins it.
CLOSES = ("PRE", "PREA", "AP")


def rules(t):
    """(name, first, second, scope, distance): ``second`` comes at least ``distance`` clocks after ``first``."""
    return [
        ("tRCD", ("ACT",), COLUMNS, "bank", t["tRCD"]),
        ("tRAS", ("ACT",), CLOSES, "bank", t["tRAS"]),
        ("tRP", CLOSES, ("ACT", "REF"), "bank", t["tRP"]),
        ("tRC", ("ACT",), ("ACT", "REF"), "bank", t["tRC"]),
        ("tRRD_S", ("ACT",), ("ACT",), "rank", t["tRRD_S"]),
        ("tRRD_L", ("ACT",), ("ACT",), "group", t["tRRD_L"]),
        ("tRTP", READS, CLOSES, "bank", t["tRTP"]),
        ("tWR", WRITES, CLOSES, "bank", t["CWL"] + t["BL"] + t["tWR"]),
        ("tWTR_S", WRITES, READS, "rank", t["CWL"] + t["BL"] + t["tWTR_S"]),
        ("tWTR_L", WRITES, READS, "group", t["CWL"] + t["BL"] + t["tWTR_L"]),
        ("tCCD_S", READS, READS, "rank", t["tCCD_S"]),
        ("tCCD_S", WRITES, WRITES, "rank", t["tCCD_S"]),
        ("tCCD_L", READS, READS, "group", t["tCCD_L"]),
        ("tCCD_L", WRITES, WRITES, "group", t["tCCD_L"]),
        ("read to write", READS, WRITES, "rank", t["CL"] + t["BL"] + 2 - t["CWL"]),
        ("tRFC", ("REF",), ("ACT", "REF", "PRE", "PREA"), "rank", t["tRFC"]),
    ]


def events(commands, t):
    """The commands and their auto-precharges as (clock, kind, bank, row), in the order of clocks."""
    found = []
    activated = {}
    for clock, kind, bank, row, _ in sorted(commands):
        found.append((clock, kind, bank, row))
        if kind == "ACT":
            activated[bank] = clock
        elif kind == "RDA":
            found.append((max(activated.get(bank, clock) + t["tRAS"], clock + t["tRTP"]), "AP", bank, row))
        elif kind == "WRA":
            # tRAS holds for it too, but is shorter than tRCD + CWL + BL + tWR in every table here.
            found.append((clock + t["CWL"] + t["BL"] + t["tWR"], "AP", bank, row))
    return sorted(found)


def check_distances(history, t):
    """Every rule, against the latest command before each command: the one that binds."""
    table = defaultdict(list)
    for rule in rules(t):
        for second in rule[2]:
            table[second].append(rule)
    last = {}
    for clock, kind, bank, _ in history:
        for name, first, _, scope, distance in table[kind]:
            for one in first:
                # A command of the whole rank is one of every bank, before or after.
                if scope == "rank" or bank < 0:
                    key = (one, "rank", 0)
                else:
                    key = (one, scope, bank // 4 if scope == "group" else bank)
                earlier = max(last.get(key, -(1 << 60)), last.get((one, "all", 0), -(1 << 60)))
                if clock - earlier < distance:
                    yield f"{name}: {one} in {earlier}, {kind} of bank {bank} in {clock}, not {distance} later"
        last[kind, "rank", 0] = clock
        last[(kind, "all", 0) if bank < 0 else (kind, "bank", bank)] = clock
        if bank >= 0:
            last[kind, "group", bank // 4] = clock


def check_windows(commands, t):
    """tFAW, one command a clock, bursts that do not meet on the data bus."""
    activations = sorted(clock for clock, kind, *_ in commands if kind == "ACT")
    for first, fifth in zip(activations, activations[4:], strict=False):
        if fifth - first < t["tFAW"]:
            yield f"tFAW: five ACTs in {first}..{fifth}"
    clocks = sorted(clock for clock, *_ in commands)
    for one, other in pairwise(clocks):
        if one == other:
            yield f"command bus: two commands in {one}"
    bursts = sorted(clock + t["CL" if kind in READS else "CWL"] for clock, kind, *_ in commands if kind in COLUMNS)
    for one, other in pairwise(bursts):
        if other - one < t["BL"]:
            yield f"data bus: bursts in {one} and {other}"


def check_rows(history):
    """A bank is open for a column command, closed for ACT, and all are for REF."""
    rows = {}
    for clock, kind, bank, row in history:
        if kind == "ACT":
            if bank in rows:
                yield f"state: ACT of bank {bank} in {clock}, which is open"
            rows[bank] = row
        elif kind in COLUMNS and bank not in rows:
            yield f"state: {kind} of bank {bank} in {clock}, which is closed"
        elif kind == "PREA":
            rows.clear()
        elif kind in ("PRE", "AP"):
            rows.pop(bank, None)
        elif kind == "REF" and rows:
            yield f"state: REF in {clock} with banks {sorted(rows)} open"


def check_refreshes(commands, t, until):
    """The k-th REF by k * tREFI, and as much later as closing the rows that were open then can take."""
    slack = max(t["tRAS"], t["CWL"] + t["BL"] + t["tWR"]) + t["tRP"] + 1
    refreshes = sorted(clock for clock, kind, *_ in commands if kind == "REF")
    for number in range(1, until // t["tREFI"] + 1):
        latest = number * t["tREFI"] + slack
        if latest < until and bisect.bisect(refreshes, latest) < number:
            yield f"tREFI: {bisect.bisect(refreshes, latest)} refreshes until {latest}, not {number}"


def violations(commands, t, until=None):
    """What is wrong with ``commands``, each (clock, kind, bank, row, column), bank = -1 for all; [] if nothing is."""
    commands = [tuple(command) for command in commands]
    history = events(commands, t)
    until = max((clock for clock, *_ in commands), default=0) if until is None else until
    return [
        *check_distances(history, t), *check_windows(commands, t), *check_rows(history),
        *check_refreshes(commands, t, until),
    ]


def accesses(commands):
    """The (bank, row, column, write) that the column commands reach, from the rows that are open then."""
    rows = {}
    for _, kind, bank, row, column in sorted(tuple(command) for command in commands):
        if kind == "ACT":
            rows[bank] = row
        elif kind in COLUMNS:
            yield bank, rows[bank], column, kind in WRITES
