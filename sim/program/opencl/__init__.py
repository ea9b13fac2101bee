"""OpenCL C on the SM: compilation of a kernel, and the memory of its launch (docs/opencl.md)."""

from .launch import launch_arguments
from .unit import OpenClUnit

__all__ = ["OpenClUnit", "launch_arguments"]
