"""The vocabulary that is asked about: the words a model knows, words of the user's, and which of them it does not know.

Only words of letters are asked about unless the user lists others, as in the SP paper (appendix E.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lexproof.candidates.files import check_unicode
from lexproof.errors import InputError
from lexproof.text import Text
from lexproof.victims.base import Victim

if TYPE_CHECKING:
    from lexproof.victims.transformer import Transformer

WORD_MODELS = ("mlp", "cnn", "lstm", "bilstm")

_MOST = 10_000  # words of the texts, where the model does not say what it knows
_MARKS = "Ġ▁"  # how tokenizers write the space before a word


def check_words(words: Iterable[str]) -> tuple[str, ...]:
    """The words, each once; InputError unless there are some, none of them empty."""
    found = tuple(dict.fromkeys(words))
    if not found:
        raise InputError("expected a vocabulary of at least one word, got none")
    odd = next(
        (word for word in found if not isinstance(word, str) or len(word.split()) != 1 or word != word.strip()), None
    )
    if odd is not None:
        raise InputError(f"expected single words without white space, got {odd!r}")
    check_unicode(found, "a vocabulary")
    return found


def vocabulary_of(victim: Victim, texts: Sequence[Text]) -> tuple[str, ...]:
    """All words of letters that the model knows, or that the texts hold where the model does not show its words."""
    if victim.kind in WORD_MODELS:
        from lexproof.victims.words import WordVictim

        assert isinstance(victim, WordVictim)
        found = [word for word in victim.vocabulary.words if word.isalpha()]
    elif victim.kind == "transformer":
        from lexproof.victims.transformer import Transformer

        assert isinstance(victim, Transformer)
        found = _whole_words(victim)
    else:
        counts = Counter(word.lower() for text in texts for word in text.words if word.isalpha())
        found = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_MOST]]
    return check_words(found)


def _whole_words(victim: Transformer) -> list[str]:
    """Words that the tokenizer reads as one token, in the order of its ids."""
    tokenizer = victim.encoder.tokenizer
    tokens = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    words = dict.fromkeys(token.lstrip(_MARKS) for token, _ in tokens)
    letters = [word for word in words if word.isalpha()]
    unknown = tokenizer.unk_token_id
    runs = victim.encoder.runs([f" {word}" for word in letters])
    return [word for word, run in zip(letters, runs, strict=True) if len(run) == 1 and run[0] != unknown]


def unknown_words(victim: Victim, words: Sequence[str]) -> tuple[str, ...]:
    """Words that the model cannot tell from others it does not know; none for a victim that does not show its words."""
    if victim.kind in WORD_MODELS:
        from lexproof.victims.vocabulary import UNKNOWN
        from lexproof.victims.words import WordVictim

        assert isinstance(victim, WordVictim)
        return tuple(word for word in words if UNKNOWN in victim.vocabulary.piece(word).ids)
    if victim.kind == "transformer":
        from lexproof.victims.transformer import Transformer

        assert isinstance(victim, Transformer)
        unknown = victim.encoder.tokenizer.unk_token_id
        runs = victim.encoder.runs([f" {word}" for word in words])
        return tuple(word for word, run in zip(words, runs, strict=True) if unknown is not None and unknown in run)
    return ()
