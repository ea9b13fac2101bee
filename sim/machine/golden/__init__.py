"""The golden model: the whole of isa.md in numpy, independent of the hardware description except for its sizes."""

from .machine import Iss
from .records import Arrival, Commit, EndStatus, Fault, IssEnd, IssError, Wait

__all__ = ["Arrival", "Commit", "EndStatus", "Fault", "Iss", "IssEnd", "IssError", "Wait"]
