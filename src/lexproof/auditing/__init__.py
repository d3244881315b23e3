"""The audit: for every text of a data set a bracket on the number of swaps that fools the classifier."""

from lexproof.auditing.run import Audit, audit
from lexproof.auditing.settings import Settings

__all__ = ["Audit", "Settings", "audit"]
