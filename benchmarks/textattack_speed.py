"""The same greedy search in TextAttack and in Lexproof: same victim, same table, same texts, in one process.

TextAttack: Attack(UntargetedClassification, RepeatModification + StopwordModification, table swap, GreedyWordSwapWIR
"delete").  Lexproof: TextFooler(hide="deleted", bonus=False, prefer="harmful") on a space without a limit on swaps.
Prints, for each tool, success, mean swaps, mean queries and milliseconds a text, split into model and everything else;
the machine's speed drifts, so TextAttack takes its texts in `--rounds` blocks, and after each block Lexproof, freshly
loaded, takes all of them; its times are means over these runs;
then on how many texts the two agree (status, number of swaps, and scores of the witness: substitutes that the model
does not know look alike to it, and TextAttack picks among them in an order that changes from run to run); the ratio.

usage: textattack_speed.py MODEL_FOLDER TABLE.json [--data mr] [--limit 200] [--threads 2] [--rounds 5]
Needs textattack 0.3.10 in the same environment, and NLTK_DATA with stopwords, averaged_perceptron_tagger and
universal_tagset (TextAttack refuses to import without them).
"""

import argparse
import gc
import json
import time

import numpy as np
import torch

import lexproof as lp
from lexproof.attacks.greedy import TextFooler
from lexproof.candidates import Table
from lexproof.engine import Engine
from lexproof.questions import Find, Item, answer_all


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("table")
    parser.add_argument("--data", default="mr")
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def textattack_side(victim, table):
    from textattack import Attack
    from textattack.attack_results import SkippedAttackResult, SuccessfulAttackResult
    from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
    from textattack.goal_functions import UntargetedClassification
    from textattack.models.wrappers import HuggingFaceModelWrapper, ModelWrapper
    from textattack.search_methods import GreedyWordSwapWIR
    from textattack.transformations import WordSwap

    clock = [0.0]

    class Words(ModelWrapper):
        """The network as a torch user would run it: tokenize, pad to the batch, embed, forward."""

        model = victim

        def __call__(self, given):
            begun = time.perf_counter()
            rows = victim.encode(given)
            scores = torch.empty(len(rows), victim.classes)
            with torch.inference_mode():
                for chosen, ids, lengths in rows.batches(10**9):
                    embedded = victim.net.embedding(torch.from_numpy(ids))
                    logits = victim.net.logits(embedded, torch.from_numpy(lengths))
                    scores[chosen] = torch.softmax(logits.float(), 1)
            clock[0] += time.perf_counter() - begun
            return scores

    class Timed(HuggingFaceModelWrapper):
        def __call__(self, given):
            begun = time.perf_counter()
            with torch.inference_mode():
                scores = super().__call__(given)
            clock[0] += time.perf_counter() - begun
            return scores

    class TableSwap(WordSwap):
        def _get_replacement_words(self, word):
            return table.get(word.lower(), [])

    wrapper = Timed(victim.model, victim.encoder.tokenizer) if victim.kind == "transformer" else Words()
    attack = Attack(
        UntargetedClassification(wrapper),
        [RepeatModification(), StopwordModification()],
        TableSwap(),
        GreedyWordSwapWIR("delete"),
    )
    stop = next(c for c in attack.pre_transformation_constraints if isinstance(c, StopwordModification)).stopwords

    def run(texts, labels):
        """Results of a block of texts, seconds, and seconds in the model."""
        results = {}
        clock[0] = 0.0
        forget()
        begun = time.perf_counter()
        for key, (text, label) in enumerate(zip(texts, labels, strict=True)):
            result = attack.attack(text, label)
            if isinstance(result, SkippedAttackResult):
                continue
            changed = None
            if isinstance(result, SuccessfulAttackResult):
                before, after = result.original_result.attacked_text, result.perturbed_result.attacked_text
                changed = (len(before.all_words_diff(after)), after.text)
            results[key] = (changed, result.num_queries)
        return results, time.perf_counter() - begun, clock[0]

    return run, stop


def lexproof_side(victim, texts, labels, table, stop):
    candidates = Table({word: options for word, options in table.items() if word not in stop})
    question = Find(attack=TextFooler(hide="deleted", bonus=False, prefer="harmful"))
    engine = Engine(victim)
    results = {}
    forget()
    begun = time.perf_counter()
    items = (
        Item(key, lp.Space.around(text, candidates), label)
        for key, (text, label) in enumerate(zip(texts, labels, strict=True))
    )
    for answered in answer_all(question, victim, items, engine):
        answer = answered.answer
        if isinstance(answer, lp.Broken) and answer.swaps == 0:
            continue
        changed = (answer.swaps, answer.witness) if isinstance(answer, lp.Broken) else None
        results[answered.item.key] = (changed, answer.cost.logical)
    return results, time.perf_counter() - begun, engine.clock.model


def forget():
    """Neither side pays for collecting what the other, or an import, has left behind."""
    gc.collect()
    gc.freeze()


def report(name, results, seconds, model):
    attacked = len(results)
    swaps = [changed[0] for changed, _ in results.values() if changed is not None]
    queries = np.mean([count for _, count in results.values()])
    print(
        f"{name:<11} {attacked} attacked, success {len(swaps) / attacked:.3f}, mean swaps {np.mean(swaps):.2f}, "
        f"mean queries {queries:.1f}, {1000 * seconds / attacked:.2f} ms/text "
        f"(model {1000 * model / attacked:.2f}, rest {1000 * (seconds - model) / attacked:.2f})"
    )


def main():
    given = parse()
    torch.set_num_threads(given.threads)
    victim = lp.load(given.model)
    with open(given.table, encoding="utf-8") as file:
        table = json.load(file)
    data = lp.read(given.data, limit=given.limit, labels=victim.labels)
    texts, labels = list(data.texts), list(data.labels)
    run, stop = textattack_side(victim, table)
    theirs, their_times, our_times = {}, [], []
    for block in np.array_split(np.arange(len(texts)), given.rounds):
        results, *times = run([texts[key] for key in block], [labels[key] for key in block])
        theirs |= {int(block[key]): result for key, result in results.items()}
        their_times.append(times)
        victim = lp.load(given.model)  # nothing remembered from before
        ours, *times = lexproof_side(victim, texts, labels, table, stop)
        our_times.append(times)
    (their_seconds, their_model), (our_seconds, our_model) = np.sum(their_times, axis=0), np.mean(our_times, axis=0)
    report("textattack", theirs, their_seconds, their_model)
    report("lexproof", ours, our_seconds, our_model)
    compare(victim, theirs, ours)
    print(f"ratio {their_seconds / our_seconds:.1f}x in all, {their_model / our_model:.1f}x in the model")


def compare(victim, theirs, ours):
    both = sorted(theirs.keys() & ours.keys())
    broken = [key for key in both if theirs[key][0] is not None and ours[key][0] is not None]
    status = sum((theirs[key][0] is None) == (ours[key][0] is None) for key in both)
    swaps = sum(theirs[key][0][0] == ours[key][0][0] for key in broken)
    left = victim.scores([theirs[key][0][1] for key in broken])
    right = victim.scores([ours[key][0][1] for key in broken])
    same = int((np.abs(left - right).max(axis=1) < 1e-4).sum())
    print(
        f"same status on {status} of {len(both)} texts; of {len(broken)} broken by both, "
        f"{swaps} with as many swaps and {same} with a witness of the same scores"
    )


if __name__ == "__main__":
    main()
