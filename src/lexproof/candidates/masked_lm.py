"""What a masked language model would write: for each word of a text the likeliest whole words in its place.

`masked=True` hides the word, as BAE does; `masked=False` leaves it in sight, as BERT-Attack does, so that the guesses
stay closer to it.

Reference: Garg and Ramakrishnan 2020, BAE; Li et al. 2020, BERT-Attack.  Deviations: only whole alphabetic words are
offered; BERT-Attack's combinations of word pieces, seldom words, are left out, and a word of several pieces is masked
in either mode.  Substitutes depend on the original text only, never on earlier swaps.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from lexproof.candidates.base import Choices, Source, Spec, match_case
from lexproof.candidates.guesses import HIDDEN_BLOCKS, Guesser, Place
from lexproof.errors import InputError
from lexproof.text import Text


class MaskedLM(Source):
    """The k likeliest whole words at each position by a masked language model, a Hugging Face folder or name.

    With a pair the premise is part of the context.  Loaded on first use; equal up to rounding on any machine.
    """

    def __init__(self, model: str | Path, *, k: int = 8, masked: bool = True) -> None:
        if k < 1:
            raise InputError(f"expected k >= 1, got {k}")
        self._guesser, self.k, self.masked = Guesser(model), k, masked

    @cached_property
    def spec(self) -> Spec:
        """The settings, a hash of the model, and how many words it is shown around a hidden one."""
        model, around = self._guesser.name, HIDDEN_BLOCKS[0]
        return {"name": "masked-lm", "model": model, "k": self.k, "masked": self.masked, "around": around}

    def __call__(self, text: Text) -> Choices:
        """The likeliest whole words at each position."""
        # some spellings collapse once the case is matched, and the word itself is among the guesses
        wide = 3 * self.k + 3
        answers = self._guesser([Place(text, at, self.masked) for at in range(len(text))], wide)
        several = [at for at, guesses in enumerate(answers) if guesses is None]
        for at, guesses in zip(several, self._guesser([Place(text, at) for at in several], wide), strict=True):
            if guesses is None:
                raise InputError(
                    f"expected a premise that leaves room for a word in {self._guesser.longest} tokens, "
                    f"got one of {len(text.premise or '')} characters; shorten it or use another model"
                )
            answers[at] = guesses
        words = ([guess.word for guess in guesses or ()] for guesses in answers)
        return tuple(match_case(word, found)[: self.k] for word, found in zip(text.words, words, strict=True))
