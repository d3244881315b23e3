"""Victims: the classifiers under test, one kind a module, imported when it is needed; `load` finds the right one."""

from lexproof.victims.base import Bound, Victim

__all__ = ["Bound", "Victim"]
