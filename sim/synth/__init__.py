"""Synthesis, placement and routing of single units for a Lattice ECP5: area, clock rate and critical path."""

from .flow import Options, SynthesisError, synthesize
from .report import PathStep, SynthResult
from .units import UNITS, make_unit

__all__ = ["UNITS", "Options", "PathStep", "SynthResult", "SynthesisError", "make_unit", "synthesize"]
