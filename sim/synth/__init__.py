"""Synthesis, placement and routing of single units for a Lattice ECP5: area, clock rate and critical path."""

from .flow import Options, SynthesisError, synthesize
from .parts import Part, breakdown
from .report import Area, PathStep, SynthResult
from .units import UNITS, make_unit

__all__ = ["UNITS", "Area", "Options", "Part", "PathStep", "SynthResult", "SynthesisError", "breakdown", "make_unit",
           "synthesize"]
