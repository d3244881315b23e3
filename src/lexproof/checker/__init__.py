"""The checker: verifies certificates from their JSON and the model, with none of the code that made them.

It is small, slow and plain on purpose.  It reads the certificate (`lexproof.certificates`), the victim's scores of
texts and, for two kinds of model, its weights and vocabulary.
"""

from lexproof.checker.checking import MAX_TEXTS, check
from lexproof.checker.verdicts import Checked, CheckedStep

__all__ = ["MAX_TEXTS", "Checked", "CheckedStep", "check"]
