"""Certificates against the truth: random spaces against every text, real data against the strongest attacks.

    python benchmarks/soundness.py --spaces 10000 [--seed 0] [--kinds mlp,cnn] [--out FILE]
    python benchmarks/soundness.py --data mr --model FOLDER … --texts 50 [--radii 1,2,3] [--limit 10] [--out FILE]

Random spaces: victims of every kind with random weights, small and large ones, two to four classes; spaces with ties
(words with equal vectors, unknown words), words without substitutes, substitutes of several tokens, texts longer than
the model reads, any number of swaps.  Each prover is asked by itself, and all together; what each certifies is compared
with the scores of every text of the space.  `minimize` must give the exact minimum where it closes its bracket.  Such
spaces would be scored sooner than bounded: for two of three, bounds and branching come first all the same.

Real data: correctly classified texts, each proven at several radii, by all provers and by bounds alone; then the
attacks `best` and `worst` look for a flip in the same space.  A contradiction is a certificate for r swaps and a flip
with at most r.

Space number s of a run depends on `--seed` and s only, so that runs with other seeds add up; with `--out` each space is
written as a line of JSON when it is finished, and a run is continued where it stopped.  One thread.  Exit status 1 if
there was a contradiction.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import lexproof as lp
from lexproof.certify import cascade
from lexproof.certify.cascade import PROVERS
from lexproof.goal import Goal
from lexproof.space import Space
from lexproof.victims.base import Victim

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from small_victims import SHAPES, WORDS, transformer_victim, true_minimum, word_space, word_victim

Row = dict[str, Any]

SPACES_A_VICTIM = 10
USUAL = cascade._SMALL, cascade._TEXTS_A_PASS
WHITE = [*SHAPES, "transformer"]
LONG = ["cnn-deep", "lstm", "bilstm", "transformer"]  # smaller spaces, and a quarter as many
BLACK = ["blackbox", "labels-only", "sklearn"]
ALONE = [(name,) for name in PROVERS] + [("milp",)]


# ---------------------------------------------------------------------- random victims


def black_victim(kind: str, seed: int) -> Victim:
    """A function of words, with or without scores, or a pipeline of scikit-learn."""
    rng = np.random.default_rng(seed)
    if kind == "sklearn":
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        texts = [" ".join(rng.choice(WORDS, size=8)) for _ in range(60)]
        pipeline = make_pipeline(CountVectorizer(token_pattern=r"\w+"), LogisticRegression(C=10.0))
        return lp.Sklearn(pipeline.fit(texts, np.arange(60) % 3))
    weights = {word: rng.normal(size=3) for word in WORDS}

    def scores(texts: list[str]) -> np.ndarray:
        sums = [sum((weights[word] for word in text.split() if word in weights), np.zeros(3)) for text in texts]
        powers = np.exp(np.array(sums) + np.sin(3 * np.array(sums)))
        return powers / powers.sum(axis=1, keepdims=True)

    if kind == "blackbox":
        return lp.BlackBox(scores, labels=["a", "b", "c"])
    return lp.BlackBox(lambda texts: scores(texts).argmax(axis=1).tolist(), labels=["a", "b", "c"], scores=False)


@lru_cache(maxsize=4)
def random_victim(kind: str, seed: int) -> Victim:
    rng = np.random.default_rng([seed, 1])
    classes, scale = int(rng.integers(2, 5)), float(rng.choice([0.3, 0.5, 0.7, 1.0, 2.0, 9.0]))
    if kind in BLACK:
        return black_victim(kind, seed)
    if kind == "transformer":
        with tempfile.TemporaryDirectory() as folder:
            return transformer_victim(Path(folder), seed, classes=classes, layers=int(rng.integers(1, 3)))
    return word_victim(kind, seed, classes=classes, scale=scale)


# ---------------------------------------------------------------------- random spaces


def ask(kind: str, seed: int, number: int) -> Row:
    """What every prover says of one space, and the truth."""
    victim = random_victim(kind, 1_000_003 * seed + number // SPACES_A_VICTIM)
    rng = np.random.default_rng([seed, number])
    is_slow = kind in LONG
    space = word_space(
        int(rng.integers(1 << 30)), words=3 if is_slow else 5, options=2 if is_slow else 3, odd=0.03,
        max_swaps=int(rng.integers(1, 5)),
    )  # fmt: skip
    # so few texts are otherwise scored without a bound
    cascade._SMALL, cascade._TEXTS_A_PASS = USUAL if number % 3 == 0 else (0, 0)
    label = int(victim.predict([space.original.input])[0])
    target = None if victim.classes == 2 or rng.random() < 0.7 else (label + 1) % victim.classes
    goal = Goal(label, target, victim.rounding)
    exact = true_minimum(victim, space, goal)
    row: Row = {"kind": kind, "number": number, "size": space.size, "exact": exact, "certified": {}, "wrong": []}
    for provers in [*ALONE, PROVERS]:
        name = "all" if provers is PROVERS else provers[0]
        if name == "enumeration" and kind in WHITE and number % 5:
            continue  # it is what the truth is made of
        answer = lp.prove(victim, space, label, target=target, provers=provers)
        row["certified"][name] = _judged(row, name, answer, exact)
    if number % 3 == 0:
        bracket = lp.minimize(victim, space, label, target=target)
        most = space.max_swaps + 1 if exact is None else exact
        if bracket.lower > most or (bracket.upper is not None and (exact is None or bracket.upper < exact)):
            row["wrong"].append(f"minimize: {bracket.lower} to {bracket.upper}, truth {exact}")
        row["closed"] = bracket.lower == (space.max_swaps + 1 if bracket.upper is None else bracket.upper)
    return row


def _judged(row: Row, name: str, answer: Any, exact: int | None) -> str:
    if isinstance(answer, lp.Robust) and exact is not None and exact <= answer.radius:
        row["wrong"].append(f"{name}: robust at {answer.radius}, but {exact} swaps flip")
    if isinstance(answer, lp.Broken) and (exact is None or answer.swaps < exact):
        row["wrong"].append(f"{name}: broken with {answer.swaps} swaps, truth {exact}")
    if name == "all" and isinstance(answer, lp.Broken) and exact is not None and answer.swaps > exact:
        row["wrong"].append(f"{name}: broken with {answer.swaps} swaps, minimum {exact}")
    return str(answer.kind)


def random_rows(args: argparse.Namespace, done: set[tuple[str, int]]) -> Iterator[Row]:
    kinds = args.kinds.split(",") if args.kinds else [*WHITE, *BLACK]
    shares = [1 if kind in LONG else 4 for kind in kinds]
    each = {kind: -(-args.spaces * share // sum(shares)) for kind, share in zip(kinds, shares, strict=True)}
    for turn in range(-(-4 * max(each.values()) // SPACES_A_VICTIM)):
        for kind in kinds:
            victim, is_skipped = (turn // 4, turn % 4 > 0) if kind in LONG else (turn, False)
            first = victim * SPACES_A_VICTIM
            for number in range(first, min(each[kind], first + SPACES_A_VICTIM)):
                if not is_skipped and (kind, number) not in done:
                    yield ask(kind, args.seed, number)


def random_table(rows: list[Row]) -> None:
    names = [*(name for (name,) in ALONE), "all"]
    print("| victim | spaces | broken | " + " | ".join(f"robust by {name}" for name in names) + " | closed | wrong |")
    print("|---|" + "---|" * (len(names) + 4))
    for kind in [*dict.fromkeys(row["kind"] for row in rows), "total"]:
        own = [row for row in rows if kind in (row["kind"], "total")]
        robust = Counter(name for row in own for name, said in row["certified"].items() if said == "robust")
        closed = [row["closed"] for row in own if "closed" in row]
        cells = [len(own), sum(row["exact"] is not None for row in own), *(robust[name] for name in names)]
        wrong = sum(len(row["wrong"]) for row in own)
        print(f"| {kind} | " + " | ".join(map(str, cells)) + f" | {sum(closed)}/{len(closed)} | {wrong} |")


# ---------------------------------------------------------------------- real data


def real_rows(args: argparse.Namespace, done: set[tuple[str, int]]) -> Iterator[Row]:
    from lexproof.data import read

    radii = [int(radius) for radius in args.radii.split(",")]
    for folder in args.model:
        victim = lp.load(folder)
        name = Path(folder).name
        for data in args.data.split(","):
            if not name.startswith(data):
                continue
            pool = read(data, split="test", labels=victim.labels)
            order = np.random.default_rng(args.seed).permutation(len(pool))
            asked = 0
            for number in order.tolist():
                if asked == args.texts:
                    break
                text, label = pool.texts[number], int(pool.labels[number])
                if int(victim.predict([text])[0]) != label:
                    continue
                asked += 1
                if (name, number) not in done:
                    yield real(victim, name, number, text, label, radii, args)


def real(
    victim: Victim, name: str, number: int, text: Any, label: int, radii: list[int], args: argparse.Namespace
) -> Row:
    row: Row = {"kind": name, "number": number, "wrong": []}
    row |= {key: {} for key in ("certified", "methods", "seconds", "bounded", "flip")}
    for radius in radii:
        space = lp.Space.around(text, lp.candidates.default(), max_swaps=radius)
        begun = time.perf_counter()
        answer = lp.prove(victim, space, label, time_limit=args.limit)
        row["seconds"][str(radius)] = round(time.perf_counter() - begun, 3)
        row["certified"][str(radius)] = answer.kind
        if isinstance(answer, lp.Robust):
            row["methods"][str(radius)] = answer.certificate.method
        bounded = lp.prove(victim, space, label, provers=("interval", "linear"), time_limit=args.limit)
        row["bounded"][str(radius)] = bounded.kind
        fewest = _attacked(victim, space, label, row, radius)
        for proof in (answer, bounded):
            if isinstance(proof, lp.Robust) and fewest is not None:
                row["wrong"].append(f"robust at {radius}, but a flip with {fewest} swaps")
        if fewest is not None or answer.kind == "broken":
            break  # larger spaces hold the same flip
    return row


def _attacked(victim: Victim, space: Space, label: int, row: Row, radius: int) -> int | None:
    found = [lp.find(victim, space, label, attack=attack, time_limit=30) for attack in ("best", "worst")]
    swaps = [answer.swaps for answer in found if isinstance(answer, lp.Broken)]
    row["flip"][str(radius)] = min(swaps, default=None)
    return min(swaps, default=None)


def real_table(rows: list[Row]) -> None:
    print(
        "| victim | swaps | asked | robust | broken | unknown | by bounds | attacked | median s | robust by | wrong |"
    )
    print("|---" * 11 + "|")
    tables: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        for radius in row["certified"]:
            tables[row["kind"], int(radius)].append(row)
    for (kind, radius), own in sorted(tables.items()):
        at = str(radius)
        said = Counter(row["certified"][at] for row in own)
        bounded = sum(row["bounded"][at] == "robust" for row in own)
        flips = sum(row["flip"][at] is not None for row in own)
        methods = Counter(row["methods"][at] for row in own if at in row["methods"])
        by = ", ".join(f"{method}: {count}" for method, count in methods.most_common())
        wrong = sum(f"robust at {radius}," in text for row in own for text in row["wrong"])
        median = float(np.median([row["seconds"][at] for row in own]))
        print(
            f"| {kind} | {radius} | {len(own)} | {said['robust']} | {said['broken']} | {said['unknown']} | {bounded} "
            f"| {flips} | {median:.2f} | {by} | {wrong} |"
        )


# ---------------------------------------------------------------------- both


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spaces", type=int, default=0)
    parser.add_argument("--kinds", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", default="")
    parser.add_argument("--model", nargs="*", default=[])
    parser.add_argument("--texts", type=int, default=20)
    parser.add_argument("--radii", default="1,2,3")
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    makers: list[tuple[bool, Callable[..., Iterator[Row]], Callable[[list[Row]], None]]] = [
        (args.spaces > 0, random_rows, random_table),
        (bool(args.data), real_rows, real_table),
    ]
    wrong = 0
    for wanted, make, table in makers:
        if wanted:
            kept = _finished(args.out)
            rows = kept + list(_written(make(args, {(row["kind"], row["number"]) for row in kept}), args.out))
            table(rows)
            wrong += sum(len(row["wrong"]) for row in rows)
            for row in rows:
                for text in row["wrong"]:
                    print(f"WRONG: {row['kind']} {row['number']}: {text}")
    print(f"contradictions: {wrong}")
    return 1 if wrong else 0


def _finished(out: Path | None) -> list[Row]:
    if out is None or not out.exists():
        return []
    return [json.loads(line) for line in out.read_text().splitlines()]


def _written(rows: Iterator[Row], out: Path | None) -> Iterator[Row]:
    for row in rows:
        if out is not None:
            with out.open("a") as file:
                file.write(json.dumps(row) + "\n")
        yield row


if __name__ == "__main__":
    sys.exit(main())
