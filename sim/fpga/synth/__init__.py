"""Synthesis, placement and routing of single units for a Lattice ECP5: area, clock rate and critical path."""

from .flow import Options, Routed
from .measure import synthesize
from .parts import Breakdown, Part, breakdown
from .report import Area, Cells, PathStep, Route, SynthResult
from .tools import SynthesisError, versions
from .units import UNITS, make_unit

__all__ = ["UNITS", "Area", "Breakdown", "Cells", "Options", "Part", "PathStep", "Route", "Routed",
           "SynthResult", "SynthesisError", "breakdown", "make_unit", "synthesize", "versions"]
