"""The golden model: all of isa.md in numpy, independent of the hardware description except for its parameters."""

from .machine import Iss
from .records import Arrival, Commit, EndStatus, Fault, IssEnd, IssError, Wait

__all__ = ["Arrival", "Commit", "EndStatus", "Fault", "Iss", "IssEnd", "IssError", "Wait"]
