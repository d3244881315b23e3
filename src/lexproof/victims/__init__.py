"""Victims: the classifiers under test.  Heavy ones live in modules of their own, imported when they are needed."""

from lexproof.victims.base import Bound, Victim
from lexproof.victims.blackbox import BlackBox

__all__ = ["BlackBox", "Bound", "Victim"]
