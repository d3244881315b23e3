"""SP-Attack beside TextFooler, BAE and CLARE: success, success by one word, similarity, fluency and cost.

    python benchmarks/sp_attack.py MODEL --data mr --texts 200 --masked-lm FOLDER --fluency ngram:FILE --out results
        [--words FILE] [--attacks sp-attack,textfooler,bae,clare] [--variant paper] [--weights code] [--threads 1]

Texts are drawn by the seed from those of the test split that the model classifies correctly; each attack has the
substitutes and limits of its recipe.  Without --words, kappa of the model's words is computed on training texts
(`lexproof.single_words`) and the 50 highest are kept in OUT.  Each attack's answers are written to
OUT/MODEL-DATA.ATTACK.json after every block of texts and found there by the next run.  Columns:

    ASR       texts broken by a witness with a cosine (MiniLM) above 0.8; of all texts, 95 % Clopper-Pearson
    ASR1      the same, one word changed
    broken    texts broken, however similar
    cosine    mean over the broken texts
    PPL       median over the broken texts of the perplexity of the witness by that of the original
    queries   distinct model inputs a text
    seconds   of processor time a text, substitutes, similarity and fluency included; what a masked model guessed for
              bae, or in an earlier run, clare finds on disk (LEXPROOF_CACHE)

References: Xu et al. 2024, Section 6.1 (what counts as success) and Figure 4 (ASR and ASR1).
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from upper_bounds import draw

import lexproof as lp
from lexproof.asking import Item, answer_all
from lexproof.attacks.sp_attack import WORDS
from lexproof.candidates.similarity import default_encoder
from lexproof.constraints import Rationed
from lexproof.data import read
from lexproof.fluency import from_spec
from lexproof.fluency.joint import Joint
from lexproof.questions import Find
from lexproof.recipes import Recipe, recipe
from lexproof.statistics.intervals import clopper_pearson
from lexproof.victims.base import Victim

SIMILAR = 0.8
FIELDS = ("witness", "swaps", "queries", "cosine", "ratio")


def dangerous_words(victim: Victim, name: str, count: int, seed: int, path: Path) -> Path:
    """A file of the 50 words of highest kappa, over so many training texts; one that is there is used again."""
    from lexproof.single_words.question import flip_words

    if not path.exists():
        data = read(name, split="train")
        chosen = np.random.default_rng(seed).permutation(len(data.texts))[:count].tolist()
        begun = time.process_time()
        found = flip_words(victim, [data.texts[at] for at in chosen], [data.labels[at] for at in chosen])
        print(f"kappa of {len(found.words)} words, {found.total} texts, {found.method}: "
              f"{time.process_time() - begun:.0f} s", flush=True)  # fmt: skip
        path.write_text("".join(f"{found.words[word]}\n" for word in found.by_turns(WORDS)), encoding="utf-8")
    return path


def attack_block(victim: Victim, made: Recipe, judge: Joint, texts: list[tuple[str, int]], seed: int) -> dict[str, Any]:
    """What one attack finds for these texts."""
    begun = time.process_time()
    items = [Item(key, made.space(text), label) for key, (text, label) in enumerate(texts)]
    found: dict[int, dict[str, Any]] = {}
    engine = Rationed(victim, made.constraints)
    for done in answer_all(Find(attack=made.attack, seed=seed), victim, items, engine):
        if done.error is not None:
            raise done.error
        row = dict.fromkeys(FIELDS) | {"queries": done.outcome.cost.queries}
        if isinstance(done.answer, lp.Broken):
            row |= {"witness": done.answer.witness, "swaps": done.answer.swaps}
        found[done.item.key] = row
    seconds = time.process_time() - begun
    for key, row in found.items():
        if row["witness"] is not None:
            original = texts[key][0]
            row["cosine"] = float(judge.cosines(original, [row["witness"]])[0])
            row["ratio"] = float(judge.ratios(original, [row["witness"]])[0])
    return {"seconds": seconds, "rows": [found[key] for key in range(len(texts))]}


def attack_all(
    path: Path, setting: dict[str, Any], victim: Victim, made: Recipe, judge: Joint, texts: list[tuple[str, int]],
    size: int,
) -> dict[str, Any]:  # fmt: skip
    """The answers of one attack, block by block; what an earlier run has written is not done again."""
    result: dict[str, Any] = {"setting": setting, "seconds": [], "rows": []}
    if path.exists() and json.loads(path.read_text())["setting"] == setting:
        result = json.loads(path.read_text())
    while len(result["rows"]) < len(texts):
        start = len(result["rows"])
        block = attack_block(victim, made, judge, texts[start : start + size], setting["seed"])
        result["rows"] += block["rows"]
        result["seconds"] += [block["seconds"] / len(block["rows"])] * len(block["rows"])
        path.write_text(json.dumps(result))
        print(f"{path.name}: {len(result['rows'])} texts, {sum(result['seconds']):.0f} s", flush=True)
    return {name: result[name][: len(texts)] for name in ("rows", "seconds")}


def share(hits: int, n: int) -> str:
    low, high = clopper_pearson(hits, n, 0.95)
    return f"{hits} ({hits / n:.1%}, {low:.1%} to {high:.1%})"


def line(attack: str, result: dict[str, Any]) -> str:
    rows = result["rows"]
    broken = [row for row in rows if row["witness"] is not None]
    good = [row for row in broken if row["cosine"] > SIMILAR]
    single = [row for row in good if row["swaps"] == 1]
    cosine = f"{np.mean([row['cosine'] for row in broken]):.3f}" if broken else "-"
    ratio = f"{np.median([row['ratio'] for row in broken]):.2f}" if broken else "-"
    cells = [share(len(good), len(rows)), share(len(single), len(rows)), f"{len(broken)}", cosine, ratio]
    cells += [f"{np.mean([row['queries'] for row in rows]):.0f}", f"{np.mean(result['seconds']):.2f}"]
    return f"| `{attack}` | " + " | ".join(cells) + " |"


def made_for(attack: str, options: argparse.Namespace, words: Path) -> Recipe:
    """The recipe of an attack, with the files it needs."""
    if attack == "sp-attack":
        return recipe(attack, options.variant, words=words, fluency=options.fluency, weights=options.weights)
    return recipe(attack, options.variant, masked_lm=options.masked_lm)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", required=True)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--words", type=Path, help="one a line, highest kappa first [computed]")
    parser.add_argument("--kappa-texts", type=int, default=1000, help="training texts that kappa is computed on")
    parser.add_argument("--masked-lm", help="folder, for bae and clare")
    parser.add_argument("--fluency", required=True, help="ngram:FILE or causal:FOLDER")
    parser.add_argument("--attacks", default="sp-attack,textfooler,bae,clare")
    parser.add_argument("--variant", default="paper", help="of every recipe")
    parser.add_argument("--weights", default="code", choices=("code", "paper"), help="of sp-attack")
    parser.add_argument("--block", type=int, default=20, help="texts attacked at once, and written together")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    victim = lp.load(str(options.model))
    stem = f"{options.model.name}-{options.data}"
    words = options.words or dangerous_words(
        victim, options.data, options.kappa_texts, options.seed, options.out / f"{stem}.words.txt"
    )
    texts = draw(victim, options.data, options.texts, options.seed)
    judge = Joint(encoder=default_encoder(), fluency=from_spec(options.fluency))
    judge.cosines("read", ["first"])  # loading the encoder is no attack's cost
    lines = []
    for attack in options.attacks.split(","):
        made = made_for(attack, options, words)
        setting = {
            "model": victim.fingerprint, "data": options.data, "seed": options.seed, "fluency": judge.fluency.name,
            "recipe": made.describe(), "words": words.read_text().split() if attack == "sp-attack" else None,
        }  # fmt: skip
        path = options.out / f"{stem}.{attack}.json"
        lines.append(line(attack, attack_all(path, setting, victim, made, judge, texts, options.block)))
    print(f"{options.model.name} on {options.data}, {len(texts)} correctly classified texts, {options.fluency}")
    print("| attack | ASR | ASR1 | broken | cosine | PPL | queries | seconds |\n|---|---|---|---|---|---|---|---|")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
