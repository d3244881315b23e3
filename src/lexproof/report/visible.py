"""Visible: characters that a page would hide or obey are written out, so that a reader sees what a text contains.

Guarantee: the result holds no control character except line feed and tab, no bidirectional control, no lone
surrogate and no other invisible format character, except a joiner after a non-ASCII character, which emoji and
several scripts need.
"""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"
_KEPT = "\n\t"
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# format characters that have a shape of their own: Arabic, Syriac and Kaithi number and verse signs
_SHAPED = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")


def visible(text: str, before: str = "") -> str:
    """The text with hidden characters written out, U+202E as ‹U+202E›; `before` is the character it follows."""
    if text.isprintable():
        return text
    pieces = []
    for character in text.replace("\r\n", "\n"):
        pieces.append(_shown(character, before))
        before = character
    return "".join(pieces)


def _shown(character: str, before: str) -> str:
    if character in _KEPT or character in _SHAPED or unicodedata.category(character) not in _HIDDEN:
        return character
    if character in _JOINERS and before and not before.isascii():
        return character
    return f"‹U+{ord(character):04X}›"
