"""Texts made by attacks: they are what they are said to be, the network trains on them, minimal ones are minimal."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from lexproof.asking import Item, answer_all, goal_for
from lexproof.candidates import Table
from lexproof.defenses.a2t import A2TTraining
from lexproof.defenses.ada import Ada
from lexproof.defenses.generated import Generated, Generating, Made, Perturb, generate
from lexproof.defenses.minimal import Minimal
from lexproof.engine import Limits
from lexproof.errors import InputError, UnknownName
from lexproof.questions import Find
from lexproof.space import Space
from lexproof.text import Text
from lexproof.training.defense import Defense, Setting
from lexproof.training.learner import Batch
from small_training import BAD, FILLER, GOOD, hardened, learner_for, setting_for
from small_victims import all_scores, true_minimum

# every word may become words of either kind: some texts flip by one swap, some by several, some by none
SOURCE = Table(
    {word: [other for other in ("good", "dull", "film", "it", "fine") if other != word] for word in GOOD + BAD}
    | {word: [other for other in ("was", "poor", "great") if other != word] for word in FILLER}
)
NEUTRAL = Table({word: ["film", "it"] for word in GOOD + BAD})  # a decided network guesses without its one word
SHARE = 0.5
LOOP = {"epochs": 4, "learning_rate": 0.02}
defenses = pytest.mark.parametrize("made", [Ada, A2TTraining, Minimal])


def trained(kind: str, count: int = 48, *, epochs: int = 4, source: Table = SOURCE) -> Setting:
    """A setting whose network has learned a little."""
    learner = learner_for(kind)
    setting = setting_for(learner, count, source=source, epochs=epochs)
    rate, steps = (0.005, 17) if kind == "transformer" else (0.02, 12)
    optimizer = torch.optim.Adam(learner.module.parameters(), rate)
    rows, gold = learner.encode(setting.inputs), np.asarray(setting.gold)
    batch = learner.batch(rows, setting.inputs, gold, np.arange(count), None)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(learner.logits(batch), batch.gold).backward()
            optimizer.step()
    learner.module.eval()
    return setting


def space_of(setting: Setting, number: int, share: float = SHARE) -> Space:
    given = setting.inputs[number]
    text = Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0])
    assert setting.synonyms is not None
    return Space.around(text, setting.synonyms, max_share=share)


def begun(defense: Any, setting: Setting) -> Any:
    defense.begin(setting)
    return defense


# ---------------------------------------------------------------------- what is generated


@pytest.mark.parametrize("kind", ["mlp", "cnn", "transformer"])
def test_generated_texts_are_what_they_are_said_to_be(kind: str) -> None:
    setting = trained(kind, source=NEUTRAL if kind == "transformer" else SOURCE)
    victim = setting.learner.snapshot()
    numbers = list(range(len(setting.inputs)))
    found = generate(Perturb(find=Find(attack="pwws")), victim, setting, numbers, 0.2)
    assert {own.made.is_flip for own in found} == {True, False}
    for own in found:
        given, label = setting.inputs[own.number], setting.gold[own.number]
        space = space_of(setting, own.number, 0.2)
        point = space.locate(Text.parse(str(own.given)))
        assert own.given != given and point is not None and space.contains(point)
        assert np.count_nonzero(point) == own.made.swaps > 0
        before, after = victim.scores([given, own.given])
        assert before.argmax() == label  # what is misclassified as it stands is left alone
        assert (after.argmax() != label) == own.made.is_flip
        assert after[label] < before[label]


def test_a_failed_attack_leaves_the_most_harmful_text_that_it_tried() -> None:
    setting = trained("mlp")
    victim = setting.learner.snapshot()
    found = generate(Perturb(find=Find(attack="exhaustive")), victim, setting, list(range(48)), 0.2)
    failed = [own for own in found if not own.made.is_flip]
    assert failed
    for own in failed:
        space = space_of(setting, own.number, 0.2)
        points, scores = all_scores(victim, space)
        label = setting.gold[own.number]
        worst = scores[1:, label].min()
        assert victim.scores([own.given])[0, label] == pytest.approx(worst, rel=1e-4)
        assert (scores.argmax(axis=1) == label).all() and not points[0].any()


def test_failed_attacks_can_be_left_out_and_a_spent_budget_keeps_what_was_found() -> None:
    setting = trained("mlp")
    victim = setting.learner.snapshot()
    numbers = list(range(48))
    every = generate(Perturb(find=Find(attack="pwws")), victim, setting, numbers, 0.2)
    flips = generate(Perturb(find=Find(attack="pwws"), keep_failed=False), victim, setting, numbers, 0.2)
    assert flips == [own for own in every if own.made.is_flip] != every
    short = Find(attack="pwws", limits=Limits(max_queries=6))
    some = generate(Perturb(find=short), victim, setting, numbers, 0.2)
    assert some and {own.number for own in some} <= {own.number for own in every}
    for own in some:
        wrong = victim.predict([own.given])[0] != setting.gold[own.number]
        assert own.made.is_flip == wrong


def test_texts_do_not_depend_on_what_is_asked_beside_them() -> None:
    setting = trained("cnn", 12)
    victim = setting.learner.snapshot()
    question = Perturb(find=Find(attack="genetic?generations=2", seed=3))
    together = generate(question, victim, setting, list(range(12)), SHARE)
    alone = [own for number in range(12) for own in generate(question, victim, setting, [number], SHARE)]
    assert together == alone != []
    backwards = generate(question, victim, setting, list(range(12))[::-1], SHARE)
    assert backwards == together[::-1]


def test_the_premise_of_a_pair_is_kept() -> None:
    setting = trained("mlp", 8)
    pairs = [("the plot was it", given) for given in setting.inputs]
    paired = Setting(setting.learner, pairs, setting.gold, 2, 0, np.random.default_rng(0), SOURCE)
    found = generate(Perturb(find=Find(attack="pwws")), setting.learner.snapshot(), paired, list(range(8)), SHARE)
    assert found
    for own in found:
        assert own.given == ("the plot was it", own.made.text)


# ---------------------------------------------------------------------- when


@defenses
def test_texts_come_after_the_plain_epochs_with_true_labels(made: type[Generating]) -> None:
    setting = trained("mlp", epochs=5)
    defense = begun(made(warmup=0.3, max_share=SHARE, limit=40), setting)
    assert defense.plain == 2
    assert defense.examples(1) is None and defense.examples(2) is None and defense.measures() == {}
    texts, labels = defense.examples(3)
    labelled = {}
    for number in range(48):
        space = space_of(setting, number)
        labelled |= {str(given): setting.gold[number] for given in space.render(space.points())[1:]}
    assert texts and all(text in labelled for text in texts)
    wrong = [text for text, label in zip(texts, labels, strict=True) if label not in (0, 1)]
    assert not wrong and len(texts) == len(labels)
    measures = defense.measures()
    assert measures["attacked"] == 40 and measures["added"] == len(texts) >= measures["flips"] > 0
    assert defense.merit(2, 0.9) is None and defense.merit(3, 0.9) == 0.9
    again = defense.examples(4)
    assert (again is None) == (made is Ada)


def test_labels_are_those_of_the_texts_they_were_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = trained("mlp", 4)
    defense = begun(Ada(), setting)
    chosen = [Generated(n, f"text {n}", Made(f"text {n}", 1, is_flip=True)) for n in (3, 0, 1)]
    monkeypatch.setattr(defense, "generated", lambda: chosen)
    assert defense.examples(2) == (["text 3", "text 0", "text 1"], [setting.gold[n] for n in (3, 0, 1)])


def test_minimal_examples_serve_for_some_epochs() -> None:
    defense = begun(Minimal(every=2, warmup=0.2), trained("mlp", 4, epochs=6))
    assert [epoch for epoch in range(1, 7) if defense.is_due(epoch)] == [3, 5]


@defenses
def test_a_model_that_is_trained_already_needs_no_plain_epochs(made: type[Generating]) -> None:
    defense = begun(made(warmup=0.0), trained("mlp", 12, epochs=1))
    assert defense.plain == 0 and defense.is_due(1) and defense.merit(1, 0.5) == 0.5


# ---------------------------------------------------------------------- the defenses


def test_ada_attacks_as_many_texts_as_its_ratio_needs_and_starts_anew() -> None:
    for restart in (True, False):
        setting = trained("mlp")
        module = setting.learner.module
        defense = begun(Ada(ratio=0.25, restart=restart, max_share=SHARE), setting)
        first = {name: tensor.clone() for name, tensor in module.state_dict().items()}
        with torch.no_grad():
            for weight in module.parameters():
                weight.mul_(1.01)
        attacked = {name: tensor.clone() for name, tensor in module.state_dict().items()}
        texts, _ = defense.examples(2)
        assert 0 < len(texts) <= 48 // 3
        wanted = first if restart else attacked
        assert all(torch.equal(tensor, wanted[name]) for name, tensor in module.state_dict().items())


def test_ada_attacks_with_any_attack() -> None:
    found = []
    for attack in ("pwws", "textfooler", "random?draws=20"):
        defense = begun(Ada(attack=attack, max_share=SHARE, restart=False), trained("mlp", 24))
        found.append(defense.examples(2)[0])
        assert found[-1]
    assert found[0] != found[1]


def test_a2t_takes_flips_until_there_are_enough() -> None:
    setting = trained("mlp")
    victim = setting.learner.snapshot()
    defense = begun(A2TTraining(share=0.1, max_share=SHARE), setting)
    texts, labels = defense.examples(2)
    assert len(texts) == 5
    assert (victim.predict(texts) != np.array(labels)).all()
    with torch.no_grad():
        for weight in setting.learner.module.parameters():
            weight.mul_(-1.0)
    victim = setting.learner.snapshot()
    others, labels = defense.examples(3)
    assert others != texts and (victim.predict(others) != np.array(labels)).all()


def test_a2t_trains_on_no_text_of_an_attack_that_failed() -> None:
    setting = trained("mlp")
    victim = setting.learner.snapshot()
    defense = begun(A2TTraining(share=0.9, max_share=0.2), setting)  # one swap a text, which is too few for some
    texts, labels = defense.examples(2)
    assert texts and (victim.predict(texts) != np.array(labels)).all()
    every = begun(Ada(attack="a2t", ratio=0.4, max_share=0.2, restart=False), trained("mlp"))
    assert len(every.examples(2)[0]) > len(texts) == defense.measures()["flips"]


@pytest.mark.parametrize("kind", ["mlp", "cnn", "bilstm", "transformer"])
def test_minimal_examples_are_minimal(kind: str) -> None:
    count = 8 if kind == "transformer" else 24
    setting = trained(kind, count)
    victim = setting.learner.snapshot()
    defense = begun(Minimal(max_share=0.6), setting)
    found = {own.number: own.made for own in defense.generated()}
    swaps = []
    for number in range(count):
        item = Item(number, space_of(setting, number, 0.6), setting.gold[number])
        fewest = true_minimum(victim, item.space, goal_for(victim, item))
        if not fewest:  # no flip, or misclassified as it stands
            assert number not in found
        else:
            swaps.append(found[number].swaps)
            assert found[number].swaps == fewest and found[number].is_flip
    assert max(swaps) > 1 or kind == "transformer"
    measures = defense.measures()
    assert measures["exact"] == len(found) and measures["swaps"] == pytest.approx(np.mean(swaps))


def test_the_exhaustive_attack_needs_as_many_swaps_as_a_minimal_example() -> None:
    setting = trained("cnn", 24)
    victim = setting.learner.snapshot()
    defense = begun(Minimal(max_share=0.6), setting)
    found = {own.number: own.made.swaps for own in defense.generated()}
    items = [Item(number, space_of(setting, number, 0.6), setting.gold[number]) for number in found]
    for answered in answer_all(Find(attack="exhaustive"), victim, items):
        assert answered.answer is not None
        assert len(answered.answer.changed) == found[answered.item.key]  # type: ignore[union-attr]


# ---------------------------------------------------------------------- the loop


class _Witnessed:
    """Remembers what was generated and what was trained on, by epoch."""

    generated_texts: dict[int, list[Any]]
    seen: dict[int, list[Any]]

    def begin(self, setting: Setting) -> None:
        self.generated_texts, self.seen = {}, {}
        super().begin(setting)  # type: ignore[misc]

    def examples(self, epoch: int) -> Any:
        added = super().examples(epoch)  # type: ignore[misc]
        self.now = epoch
        if added is not None:
            self.generated_texts[epoch] = sorted(zip(*added, strict=True))
        return added

    def backward(self, batch: Batch) -> float:
        own = zip(batch.numbers.tolist(), batch.inputs, batch.gold.tolist(), strict=True)
        self.seen.setdefault(self.now, []).extend((text, label) for number, text, label in own if number >= 48)
        return super().backward(batch)  # type: ignore[misc, no-any-return]


def witnessed(made: type[Generating], **settings: Any) -> Any:
    return type(made.__name__, (_Witnessed, made), {})(**settings)


def same_weights(one: Any, other: Any) -> bool:
    pairs = zip(one.net.state_dict().values(), other.net.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@defenses
@pytest.mark.parametrize("kind", ["cnn", "mlp"])
def test_the_network_trains_on_what_was_generated(made: type[Generating], kind: str) -> None:
    defense = witnessed(made, max_share=SHARE)
    victim = hardened(defense, kind, source=SOURCE, options=LOOP)
    due = [2] if made is Ada else [2, 3, 4]
    assert sorted(defense.generated_texts) == due and not defense.seen[1]
    for epoch in (2, 3, 4):
        latest = defense.generated_texts[max(e for e in due if e <= epoch)]
        assert sorted(defense.seen[epoch]) == latest != []
    assert victim.training["best_epoch"] > 1
    assert [("added" in row) for row in victim.training["history"]] == [epoch in due for epoch in (1, 2, 3, 4)]
    plain = hardened(None, kind, source=SOURCE, options=LOOP)
    assert not same_weights(victim, plain)
    assert same_weights(victim, hardened(made(max_share=SHARE), kind, source=SOURCE, options=LOOP))


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_other_kinds_train_as_well(kind: str) -> None:
    for made in (Ada, A2TTraining, Minimal):
        victim = hardened(made(max_share=SHARE, limit=8), kind, source=NEUTRAL, options={"epochs": 2})
        assert victim.training["history"][1]["attacked"] == 8


def test_state_survives_json() -> None:
    defense = begun(Minimal(limit=8), trained("mlp", 12))
    defense.examples(2)
    tensors, rest = defense.state()
    other = begun(Minimal(limit=8), trained("mlp", 12))
    other.restore(tensors, json.loads(json.dumps(rest)))
    assert other.epoch == 2 and other.measures() == defense.measures() != {}


# ---------------------------------------------------------------------- bad settings


@pytest.mark.parametrize(
    ("made", "settings", "message"),
    [
        (Ada, {"warmup": 1.0}, "warmup"),
        (Ada, {"warmup": -0.1}, "warmup"),
        (Ada, {"ratio": 1.0}, "ratio"),
        (Ada, {"limit": -1}, "limit"),
        (Ada, {"max_share": 0.0}, "max_share"),
        (A2TTraining, {"share": 1.5}, "share"),
        (Minimal, {"every": 0}, "every"),
        (Minimal, {"max_nodes": 0}, "max_nodes"),
    ],
)
def test_bad_settings_are_refused(made: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        made(**settings)


@defenses
def test_an_unknown_attack_is_refused_before_training(made: Any) -> None:
    with pytest.raises(UnknownName, match="pwss"):
        made(attack="pwss")


@defenses
def test_too_few_epochs_are_refused(made: Any) -> None:
    defense: Defense = made()
    with pytest.raises(InputError, match="raise epochs"):
        defense.begin(trained("mlp", 4, epochs=1))


def test_attacks_tell_how_far_they_are_text_by_text() -> None:
    told: list[tuple[str, int, int]] = []
    setting = replace(trained("cnn"), told=lambda *said: told.append(said))
    defense = begun(Ada(attack="pwws", warmup=0), setting)
    defense.examples(1)
    assert told[0] == ("attacked", 0, 48) and told[-1] == ("attacked", 48, 48)
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told}) and len(told) > 10
