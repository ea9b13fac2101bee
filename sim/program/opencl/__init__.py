"""OpenCL C on the SM: how a kernel is compiled, and what a launch of it has in memory (docs/opencl.md)."""

from .launch import launch_arguments
from .unit import OpenClUnit

__all__ = ["OpenClUnit", "launch_arguments"]
