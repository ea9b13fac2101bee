"""The commands that know one SM only, and why. A command that learns several SMs leaves the first table for the second.

The tables decide the messages alone. A command knows several SMs if it takes :class:`scripts.options.gpu.GpuOptions`.
"""

from __future__ import annotations

from ..process.errors import UsageError

__all__ = ["ONE_SM", "SEVERAL_SMS", "OneSmError", "why_one_sm"]

#: Command -> why it knows one SM only.
ONE_SM = {
    "analyze": "it analyses the accesses of one SM",
    "characterize": "it measures the latencies of one SM alone",
    "bench": "it measures machines of one SM",
    "board": "the board's design has one SM",
    "config": "it shows the fields of an SM (docs/gpu.md has those of a GPU)",
    "prove": "its claims except P11 are about one SM (P11: --set sms=2)",
}
#: The others that take a machine, as an error message names them.
SEVERAL_SMS = ("run", "predict", "wcet", "sweep", "trace", "build --image", "verilog", "synth --unit sm")


#: The end of all such messages.
_SEVERAL = f"these know several SMs: metronome {', '.join(SEVERAL_SMS)}"


class OneSmError(UsageError):
    """Several SMs, or a field of them, where there may be one only. ``what``: the option or field, as given."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"{what}: {_SEVERAL}")


def why_one_sm(error: Exception, command: str | None) -> str | None:
    """Return the line that refuses several SMs: the command's reason, and the commands that know several.

    None if ``error`` is about something else, or the command takes no machine, or it knows several.
    """
    if command not in ONE_SM:
        return None
    if isinstance(error, OneSmError):
        what = error.what
    else:
        from metronome.sim.machine.gpu_settings import GPU_FIELDS

        # An option that typer does not know here.
        what = getattr(error, "option_name", "")
        if what not in [f"--{name.replace('_', '-')}" for name in GPU_FIELDS]:
            return None
    return f"{what}: metronome {command} knows one SM only, because {ONE_SM[command]}; {_SEVERAL}"
