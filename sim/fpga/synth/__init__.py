"""Synthesis, placement and routing of single units for an FPGA: area, clock rate and critical path."""

from .families import DEFAULT_FAMILY, FAMILIES, Target, target_of
from .flow import Options, Routed, options_for
from .measure import synthesize
from .parts import Breakdown, Part, breakdown
from .report import Area, Cells, PathStep, Route, SynthResult
from .tools import SynthesisError, versions
from .units import UNITS, make_unit

__all__ = ["DEFAULT_FAMILY", "FAMILIES", "UNITS", "Area", "Breakdown", "Cells", "Options", "Part", "PathStep", "Route",
           "Routed", "SynthResult", "SynthesisError", "Target", "breakdown", "make_unit", "options_for", "synthesize",
           "target_of", "versions"]
