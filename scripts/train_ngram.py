"""Train a trigram model of words, which says how fluent a text is: `fluency=ngram:FILE` of attacks and benchmarks.

    python scripts/train_ngram.py --data mr --out models/mr.ngram
    lexproof find --attack 'sp-attack?fluency=ngram:models/mr.ngram' --candidates vocabulary:words.txt --max-swaps 1 ...

Reads the training split of named sets, or files with a text column, and writes one file.  Prints how surprised the
model is by texts of the test split of each named set, beside the same texts with their words in random order.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import lexproof as lp
from lexproof.data.named import find
from lexproof.fluency.base import tokens
from lexproof.fluency.ngram import Ngram


def texts_of(source: str, split: str) -> list[str]:
    """The texts of a set's split or of a file, of pairs the hypotheses."""
    found = lp.read(source, split=split, require_labels=False).texts
    return [text if isinstance(text, str) else text[1] for text in found]


def held_out(model: Ngram, source: str, seed: int) -> str:
    """One line on the test split."""
    texts = texts_of(source, "test")[:2000]
    rng = np.random.default_rng(seed)
    shuffled = [" ".join(rng.permutation(tokens(text))) for text in texts]
    usual, mixed = (float(np.median(model.perplexity(given))) for given in (texts, shuffled))
    return f"{source}: {len(texts)} texts of the test split: median perplexity {usual:.0f}, words shuffled {mixed:.0f}"


def main() -> None:
    """Train, save, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", action="append", required=True, help="a named set or a file; repeat for several")
    parser.add_argument("--min-count", type=int, default=2, help="words seen less often are unknown [2]")
    parser.add_argument("--out", type=Path, required=True, help="file to write")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    texts = [text for source in given.data for text in texts_of(source, "train")]
    begun = time.perf_counter()
    model = Ngram.train(texts, min_count=given.min_count)
    model.save(given.out)
    seconds, size = time.perf_counter() - begun, given.out.stat().st_size / 1e6
    print(f"{len(texts)} texts, {len(model.words)} words and {model.unknown} unknown: {seconds:.1f} s, {size:.1f} MB")
    for source in given.data:
        if find(source, "test") is not None:
            print(held_out(model, source, given.seed))


if __name__ == "__main__":
    try:
        main()
    except (lp.LexproofError, OSError) as error:
        print(f"train_ngram.py: {error}", file=sys.stderr)
        sys.exit(2)
