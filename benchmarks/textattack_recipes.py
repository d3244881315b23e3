"""The searches of TextAttack 0.3.10's recipes and their counterparts here, on one table, one victim and one limit.

`RECIPES` names, for each recipe, the search that TextAttack's recipe runs and our attack with the settings of that
search.  `TheirSide` attacks texts with the one, `our_side` with the other; both return a `Run`.
"""

import gc
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from textattack import Attack
from textattack.attack_results import SkippedAttackResult, SuccessfulAttackResult
from textattack.constraints.overlap import MaxWordsPerturbed
from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
from textattack.goal_functions import UntargetedClassification
from textattack.models.wrappers import HuggingFaceModelWrapper, ModelWrapper
from textattack.search_methods import (
    AlzantotGeneticAlgorithm,
    BeamSearch,
    GreedySearch,
    GreedyWordSwapWIR,
    ParticleSwarmOptimization,
)
from textattack.transformations import WordSwap

import lexproof as lp
from lexproof.asking import Item, answer_all
from lexproof.attacks.a2t import A2T
from lexproof.attacks.bae import Bae
from lexproof.attacks.beam import Beam
from lexproof.attacks.bert_attack import BertAttack
from lexproof.attacks.clare import Clare
from lexproof.attacks.deepwordbug import DeepWordBug
from lexproof.attacks.genetic import Genetic
from lexproof.attacks.pwws import Pwws
from lexproof.attacks.sempso import SemPso
from lexproof.attacks.textbugger import TextBugger
from lexproof.attacks.textfooler import TextFooler
from lexproof.engine import Engine
from lexproof.questions import Find
from lexproof.victims.vocabulary import tokens

UNKNOWN = "unkunk"  # to a word model, which would read "[UNK]" as three tokens


@dataclass(frozen=True)
class Recipe:
    """TextAttack's search and ours; `slow`: takes TextAttack seconds a text."""

    theirs: Callable[[], object]
    ours: object
    slow: bool = False


RECIPES = {
    "textfooler": Recipe(
        partial(GreedyWordSwapWIR, "delete"), TextFooler(hide="deleted", bonus=False, prefer="harmful")
    ),
    "pwws": Recipe(partial(GreedyWordSwapWIR, "weighted-saliency"), Pwws(reselect=True)),
    "textbugger": Recipe(partial(GreedyWordSwapWIR, "delete"), TextBugger(rank="word")),
    "deepwordbug": Recipe(partial(GreedyWordSwapWIR, "unk"), DeepWordBug(rank="masked", step="greedy")),
    "bert-attack": Recipe(partial(GreedyWordSwapWIR, "unk"), BertAttack(bonus=False, max_share=1.0)),
    "bae": Recipe(partial(GreedyWordSwapWIR, "delete"), Bae(prefer="harmful")),
    "a2t": Recipe(partial(GreedyWordSwapWIR, "gradient"), A2T(max_share=None)),
    "clare": Recipe(GreedySearch, Clare(rescan=True)),
    "beam": Recipe(partial(BeamSearch, beam_width=4), Beam(width=4)),
    "genetic": Recipe(partial(AlzantotGeneticAlgorithm, pop_size=60, max_iters=20), Genetic(), slow=True),
    "pso": Recipe(
        partial(ParticleSwarmOptimization, pop_size=60, max_iters=20),
        SemPso(clip=False, pick="gain"),
        slow=True,
    ),
}


# ---------------------------------------------------------------------- what is measured


@dataclass
class Clock:
    """Seconds of processor time in what it times, calls within calls counted once."""

    seconds: float = 0.0
    depth: int = 0

    def timed(self, function):
        def call(*given):
            self.depth += 1
            begun = time.process_time()
            try:
                return function(*given)
            finally:
                self.depth -= 1
                if not self.depth:
                    self.seconds += time.process_time() - begun

        return call


@dataclass
class Run:
    """What became of the texts that were attacked, by number, and the time that took."""

    results: dict = field(default_factory=dict)  # number: ((swaps, witness) or None, questions asked, model inputs)
    wall: float = 0.0
    processor: float = 0.0
    model: float = 0.0  # processor time in the model

    def measured(self, begun, clock):
        self.wall, self.processor = time.perf_counter() - begun[0], time.process_time() - begun[1]
        self.model = clock.seconds
        return self


def start():
    """Now; neither side pays for collecting what the other, or an import, has left behind."""
    gc.unfreeze()  # what was alive at the last start may be garbage now
    gc.collect()
    gc.freeze()
    return time.perf_counter(), time.process_time()


# ---------------------------------------------------------------------- TextAttack


class Words(ModelWrapper):
    """A word model as a torch user would run it: tokenize, pad to the batch, embed, forward."""

    def __init__(self, victim, clock):
        self.model = self.victim = victim
        self.inputs = 0
        self.run = clock.timed(self._run)
        self.get_grad = clock.timed(self._gradient)

    def __call__(self, given):
        self.inputs += len(given)
        return self.run(given)

    def _run(self, given):
        rows = self.victim.encode(given)
        scores = torch.empty(len(rows), self.victim.classes)
        with torch.inference_mode():
            for chosen, ids, lengths in rows.batches(10**9):
                embedded = self.victim.net.embedding(torch.from_numpy(ids))
                logits = self.victim.net.logits(embedded, torch.from_numpy(lengths))
                scores[chosen] = torch.softmax(logits.float(), 1)
        return scores

    def _gradient(self, text):
        """The gradient of the loss of the predicted label by the vector of each token."""
        self.inputs += 1
        (_, ids, lengths), *_ = self.victim.encode([text]).batches(10**9)
        embedded = self.victim.net.embedding(torch.from_numpy(ids)).requires_grad_()
        logits = self.victim.net.logits(embedded, torch.from_numpy(lengths))
        loss = torch.nn.functional.cross_entropy(logits, logits.argmax(1))
        (gradient,) = torch.autograd.grad(loss, embedded)
        return {"ids": ids[0], "gradient": gradient[0].numpy()}

    def _tokenize(self, inputs):
        return [tokens(text) for text in inputs]


class Pieces(HuggingFaceModelWrapper):
    """A transformer as TextAttack runs it, without keeping what only gradients need."""

    def __init__(self, victim, clock):
        super().__init__(victim.model, victim.encoder.tokenizer)
        self.inputs = 0
        self.run = clock.timed(super().__call__)

    def __call__(self, given):
        self.inputs += len(given)
        with torch.inference_mode():
            return self.run(given)


class TableSwap(WordSwap):
    def __init__(self, table):
        super().__init__()
        self.table = table

    def _get_replacement_words(self, word):
        return self.table.get(word.lower(), [])


class TheirSide:
    """TextAttack with one search; the victim is read, never written."""

    def __init__(self, victim, table, search):
        self.clock = Clock()
        self.wrapper = (Pieces if victim.kind == "transformer" else Words)(victim, self.clock)
        search.unk_token = victim.encoder.mask if victim.kind == "transformer" else UNKNOWN
        self.limit = MaxWordsPerturbed(max_num_words=1)  # set for each text
        self.attack = Attack(
            UntargetedClassification(self.wrapper),
            [RepeatModification(), StopwordModification(), self.limit],
            TableSwap(table),
            search,
        )

    def run(self, texts, limits, seed):
        """Attack (number, text, label), each with the limit on swaps of that number."""
        run = Run()
        random.seed(seed)
        np.random.seed(seed)
        self.clock.seconds = 0.0
        begun = start()
        for number, text, label in texts:
            self.limit.max_num_words = limits[number]
            self.wrapper.inputs = 0
            result = self.attack.attack(text, label)
            if isinstance(result, SkippedAttackResult):
                continue
            changed = None
            if isinstance(result, SuccessfulAttackResult):
                before, after = result.original_result.attacked_text, result.perturbed_result.attacked_text
                changed = (len(before.all_words_diff(after)), after.text)
            run.results[number] = (changed, result.num_queries, self.wrapper.inputs)
        return run.measured(begun, self.clock)


# ---------------------------------------------------------------------- Lexproof


def our_side(victim, candidates, share, attack, texts, seed):
    """Lexproof on a victim that has seen nothing yet; the witnesses are checked as texts within the time."""
    clock, run = Clock(), Run()
    for name in ("score", "scores", "sensitivity"):
        setattr(victim, name, clock.timed(getattr(victim, name)))
    begun = start()
    items = (Item(number, lp.Space.around(text, candidates, max_share=share), label) for number, text, label in texts)
    for answered in answer_all(Find(attack=attack, seed=seed), victim, items, Engine(victim)):
        answer = answered.answer
        if isinstance(answer, lp.Broken) and answer.swaps == 0:
            continue
        changed = (answer.swaps, answer.witness) if isinstance(answer, lp.Broken) else None
        run.results[answered.item.key] = (changed, answer.cost.logical, answer.cost.queries)
    return run.measured(begun, clock)
