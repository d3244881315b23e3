"""Lexproof: how robust is a text classifier when words are swapped, and how do you make it hold?

text → space → question → answer with evidence.  Importing this package loads numpy and nothing heavier; victims that
need torch and the like are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lexproof import candidates
from lexproof.answers import (
    Answer,
    Bracket,
    Broken,
    Certificate,
    Minimum,
    Robust,
    Share,
    ShareCurve,
    Unknown,
    from_json,
)
from lexproof.errors import (
    DataError,
    EvidenceError,
    InputError,
    LexproofError,
    MissingExtra,
    ModelError,
    NoRule,
    RunError,
    UnknownName,
)
from lexproof.evidence import recheck
from lexproof.safe_radius.answer import RadiusBracket, radius_from_json
from lexproof.space import Change, Space
from lexproof.text import Text
from lexproof.verbs import certified_curve, count, count_curve, find, minimize, prove, radii, radius

if TYPE_CHECKING:
    from lexproof.auditing import Audit, Settings, audit
    from lexproof.certificates import export_certificate
    from lexproof.certify.smoothing import SmoothedCertificate, certify_smoothed
    from lexproof.checker import Checked, check
    from lexproof.constraints import Constraints
    from lexproof.data import Dataset, read
    from lexproof.defenses import harden
    from lexproof.edits import Edited, edit
    from lexproof.explaining import Explanation, deletion_curve, explain
    from lexproof.recipes import Recipe, recipe
    from lexproof.safe_radius.recheck import recheck_radius
    from lexproof.single_words.answer import FlipWords, flip_words_from_json
    from lexproof.single_words.question import flip_words
    from lexproof.training import train
    from lexproof.victims.blackbox import BlackBox
    from lexproof.victims.endpoint import Endpoint
    from lexproof.victims.labels import LabelOnly
    from lexproof.victims.load import load
    from lexproof.victims.sklearn import Sklearn
    from lexproof.victims.transformer import Transformer

_LAZY = {
    "Audit": "lexproof.auditing",
    "BlackBox": "lexproof.victims.blackbox",
    "Checked": "lexproof.checker",
    "Constraints": "lexproof.constraints",
    "Dataset": "lexproof.data",
    "Edited": "lexproof.edits",
    "Endpoint": "lexproof.victims.endpoint",
    "Explanation": "lexproof.explaining",
    "FlipWords": "lexproof.single_words.answer",
    "LabelOnly": "lexproof.victims.labels",
    "Recipe": "lexproof.recipes",
    "Settings": "lexproof.auditing",
    "SmoothedCertificate": "lexproof.certify.smoothing",
    "Sklearn": "lexproof.victims.sklearn",
    "Transformer": "lexproof.victims.transformer",
    "audit": "lexproof.auditing",
    "certify_smoothed": "lexproof.certify.smoothing",
    "check": "lexproof.checker",
    "deletion_curve": "lexproof.explaining",
    "edit": "lexproof.edits",
    "explain": "lexproof.explaining",
    "export_certificate": "lexproof.certificates",
    "flip_words": "lexproof.single_words.question",
    "flip_words_from_json": "lexproof.single_words.answer",
    "harden": "lexproof.defenses",
    "load": "lexproof.victims.load",
    "read": "lexproof.data",
    "recheck_radius": "lexproof.safe_radius.recheck",
    "recipe": "lexproof.recipes",
    "train": "lexproof.training",
}

__all__ = [
    "Answer",
    "Audit",
    "BlackBox",
    "Bracket",
    "Broken",
    "Certificate",
    "Change",
    "Checked",
    "Constraints",
    "DataError",
    "Dataset",
    "Edited",
    "Endpoint",
    "EvidenceError",
    "Explanation",
    "FlipWords",
    "InputError",
    "LabelOnly",
    "LexproofError",
    "Minimum",
    "MissingExtra",
    "ModelError",
    "NoRule",
    "RadiusBracket",
    "Recipe",
    "Robust",
    "RunError",
    "Settings",
    "Share",
    "ShareCurve",
    "Sklearn",
    "SmoothedCertificate",
    "Space",
    "Text",
    "Transformer",
    "Unknown",
    "UnknownName",
    "audit",
    "candidates",
    "certified_curve",
    "certify_smoothed",
    "check",
    "count",
    "count_curve",
    "deletion_curve",
    "edit",
    "explain",
    "export_certificate",
    "find",
    "flip_words",
    "flip_words_from_json",
    "from_json",
    "harden",
    "load",
    "minimize",
    "prove",
    "radii",
    "radius",
    "radius_from_json",
    "read",
    "recheck",
    "recheck_radius",
    "recipe",
    "train",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":  # what it takes to read it would be a fifth of the import
        from importlib.metadata import version

        return version("lexproof")
    if name not in _LAZY:
        raise AttributeError(f"module 'lexproof' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
