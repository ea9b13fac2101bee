"""OpenCL C on the SM: how a kernel is compiled, and what a launch of it has in memory (docs/opencl.md)."""

from .launch import launch_arguments
from .source import ENTRY
from .unit import LAUNCHER, OpenClUnit

__all__ = ["ENTRY", "LAUNCHER", "OpenClUnit", "launch_arguments"]
