"""The searches of TextAttack's recipes side by side with ours: one victim, one table, one limit, one process.

TextAttack: Attack(UntargetedClassification, RepeatModification + StopwordModification + MaxWordsPerturbed, table swap,
the recipe's search).  Lexproof: the attack with the settings of that search, on spaces with the same table, stop words
and number of swaps: floor(share * words), at least 1, the same integer for both.

The machine's speed drifts, so TextAttack takes its texts in `--rounds` blocks, and after each block Lexproof, freshly
loaded, takes all of them; its times are means over these runs.  Times are processor time a text attacked, split into
model and everything else; the ratio is also given in wall time.  Queries are questions asked, inputs what the model
evaluated (the rest came from memory).  Success comes with a 95 % Clopper-Pearson interval;
"only" counts the texts that one side broke and the other did not.

usage: textattack_speed.py MODEL_FOLDER TABLE.json [--recipes textfooler pwws ...] [--data mr] [--limit 200]
                           [--slow-limit 30] [--share 0.25] [--threads 1] [--rounds 5] [--seed 0]
Needs textattack 0.3.10 in the same environment, and NLTK_DATA with stopwords, averaged_perceptron_tagger and
universal_tagset (TextAttack refuses to import without them).
"""

import argparse
import json

import numpy as np
import torch
from textattack.constraints.pre_transformation import StopwordModification
from textattack_recipes import RECIPES, Run, TheirSide, our_side

import lexproof as lp
from lexproof.candidates import Table
from lexproof.statistics.intervals import clopper_pearson


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("table")
    parser.add_argument("--recipes", nargs="+", choices=list(RECIPES), default=list(RECIPES))
    parser.add_argument("--data", default="mr")
    parser.add_argument("--limit", type=int, default=200, help="texts of most recipes")
    parser.add_argument("--slow-limit", type=int, default=30, help="texts of genetic and pso")
    parser.add_argument("--share", type=float, default=0.25, help="of words that may be swapped")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def side_by_side(given, recipe, texts, table, candidates):
    """What TextAttack and Lexproof did, and the limit on swaps of each text."""
    limits = [lp.Space.around(text, candidates, max_share=given.share).max_swaps for _, text, _ in texts]
    side = TheirSide(lp.load(given.model), table, recipe.theirs())
    theirs, runs = Run(), []
    for block in np.array_split(np.arange(len(texts)), given.rounds):
        part = side.run([texts[number] for number in block], limits, given.seed)
        theirs.results |= part.results
        theirs.wall, theirs.processor = theirs.wall + part.wall, theirs.processor + part.processor
        theirs.model += part.model
        runs.append(our_side(lp.load(given.model), candidates, given.share, recipe.ours, texts, given.seed))
    ours = Run(runs[0].results, *np.mean([(run.wall, run.processor, run.model) for run in runs], axis=0))
    return theirs, ours, limits


def broken(run):
    return {number: changed for number, (changed, *_) in run.results.items() if changed is not None}


def row(name, tool, run, ratio=""):
    flips, attacked = broken(run), len(run.results)
    low, high = clopper_pearson(len(flips), attacked, 0.95)
    swaps = np.mean([swaps for swaps, _ in flips.values()]) if flips else float("nan")
    queries, inputs = np.mean([counts for _, *counts in run.results.values()], axis=0)
    total, model = 1000 * run.processor / attacked, 1000 * run.model / attacked
    print(
        f"{name:<12}{tool:<11}{attacked:>5}  {len(flips) / attacked:.3f} [{low:.3f}, {high:.3f}]{swaps:>7.2f}"
        f"{queries:>10.1f}{inputs:>9.1f}{total:>11.2f}{model:>10.2f}{total - model:>10.2f}  {ratio}",
        flush=True,
    )


def compare(victim, theirs, ours, limits):
    left, right = broken(theirs), broken(ours)
    both = sorted(left.keys() & right.keys())
    fewer = sum(right[number][0] < left[number][0] for number in both)
    more = sum(right[number][0] > left[number][0] for number in both)
    pair = [victim.scores([side[number][1] for number in both]) for side in (left, right)]
    same = int((np.abs(pair[0] - pair[1]).max(axis=1, initial=0.0) < 1e-4).sum())
    outside = sum(swaps > limits[number] for number, (swaps, _) in left.items())
    print(
        f"{'':<12}only textattack {len(left.keys() - right.keys())}, only lexproof {len(right.keys() - left.keys())}, "
        f"both {len(both)}: of these {fewer} with fewer swaps here, {more} with more, {same} with witnesses of the "
        f"same scores; textattack over the limit {outside}\n",
        flush=True,
    )


def main():
    given = parse()
    torch.set_num_threads(given.threads)
    victim = lp.load(given.model)
    with open(given.table, encoding="utf-8") as file:
        table = json.load(file)
    stop = StopwordModification().stopwords
    candidates = Table({word: options for word, options in table.items() if word not in stop})
    data = lp.read(given.data, limit=max(given.limit, given.slow_limit), labels=victim.labels)
    texts = list(zip(range(len(data.texts)), data.texts, data.labels, strict=True))
    print(
        f"{'recipe':<12}{'tool':<11}{'texts':>5}  {'success':<20}{'swaps':>7}{'queries':>10}{'inputs':>9}"
        f"{'ms/text':>11}{'model':>10}{'rest':>10}  ratio of processor time, of wall time"
    )
    for name in given.recipes:
        recipe = RECIPES[name]
        chosen = texts[: given.slow_limit if recipe.slow else given.limit]
        theirs, ours, limits = side_by_side(given, recipe, chosen, table, candidates)
        row(name, "textattack", theirs)
        ratio = f"{theirs.processor / ours.processor:.1f}x  {theirs.wall / ours.wall:.1f}x"
        row("", "lexproof", ours, ratio)
        compare(victim, theirs, ours, limits)


if __name__ == "__main__":
    main()
