"""Rankings, the walk and the replay by hand; and what holds for every greedy attack in every variant."""

from __future__ import annotations

import numpy as np
import pytest
from hunting import adding, hunt
from tables import space_of, word_model

import lexproof as lp
from lexproof.asking import Item, answer_all
from lexproof.attacks.a2t import A2T
from lexproof.attacks.bae import Bae
from lexproof.attacks.base import Attack
from lexproof.attacks.bert_attack import BertAttack
from lexproof.attacks.clare import Clare
from lexproof.attacks.deepwordbug import DeepWordBug
from lexproof.attacks.greedy import helpful_plan, importance, ranked, strongest, swap_limit
from lexproof.attacks.pwws import Pwws
from lexproof.attacks.textbugger import TextBugger
from lexproof.attacks.textfooler import TextFooler
from lexproof.engine import Engine
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.questions import Find
from lexproof.space import Space
from lexproof.victims.base import Victim
from toys import Additive, brute_minimum, random_space

CLASSES = (TextFooler, Pwws, TextBugger, DeepWordBug, BertAttack, Bae, Clare, A2T)
ATTACKS: dict[str, Attack] = {
    f"{cls.__name__}-{name}": cls(**settings) for cls in CLASSES for name, settings in cls.variants.items()
}
BLIND = {name: attack for name, attack in ATTACKS.items() if not attack.needs_gradients}


# ---------------------------------------------------------------------- rankings


def test_importance_is_the_drop_of_the_label_plus_the_rise_of_a_new_label() -> None:
    start = np.array([[0.5, 0.25, 0.25]])
    hidden = np.array([[0.375, 0.3125, 0.3125], [0.4375, 0.5, 0.0625], [0.625, 0.25, 0.125]])
    assert importance(Goal(0), start, hidden, bonus=False).tolist() == [0.125, 0.0625, -0.125]
    assert importance(Goal(0), start, hidden, bonus=True).tolist() == [0.125, 0.0625 + 0.25, -0.125]
    # towards label 2: the rise of its score, and no bonus
    assert importance(Goal(0, 2), start, hidden, bonus=True).tolist() == [0.0625, -0.1875, -0.125]


def test_equally_important_words_come_in_the_order_of_the_text() -> None:
    positions = np.array([1, 4, 6, 7], np.int32)
    assert ranked(positions, np.array([0.5, 2.0, 0.5, 2.0])).tolist() == [4, 7, 1, 6]


def test_strongest_and_plan_by_hand() -> None:
    space = Space("a b c d", [["a1", "a2"], [], ["c1"], ["d1", "d2", "d3"]])
    drops = np.array([0.125, 0.5, -0.25, 0.25, 0.0, 0.375])
    assert strongest(space, drops).tolist() == [0.5, -0.25, 0.375]
    plan = [(position, choices.tolist()) for position, choices in helpful_plan(space, drops, np.array([1.0, 3.0, 2.0]))]
    assert plan == [(3, [3, 1]), (0, [2, 1])]  # c comes first by weight, but nothing helps there; d2 helps nothing
    assert strongest(Space("a", [[]]), np.empty(0)).tolist() == []


def test_swap_limit() -> None:
    space = Space(" ".join("abcdefghij"), [["x"]] * 10, 6)
    assert swap_limit(space, None) == 6
    assert swap_limit(space, 0.4) == 4
    assert swap_limit(space, 0.01) == 1
    assert swap_limit(space, 0.1, at_least=4) == 4
    assert swap_limit(space, 1.0) == 6


# ---------------------------------------------------------------------- the walk


def test_the_walk_asks_for_all_substitutes_of_a_word_on_the_current_text() -> None:
    score = adding({"good": 2.0, "fun": 1.0, "okay": 0.5, "dull": -1.0})
    hunted = hunt(TextFooler(), Space("good fun", [["nice", "okay"], ["dull", "dry"]]), score)
    assert hunted.asked == [
        ["good fun"],
        ["[UNK] fun", "good [UNK]"],
        ["nice fun", "okay fun"],
        ["nice dull", "nice dry"],
    ]
    assert hunted.found == "nice dull"


def test_every_step_obeys_the_predicate_not_only_the_flip() -> None:
    score = adding({"good": 2.0, "fun": 1.0, "nice": 0.5, "okay": 0.2, "dull": -1.0, "dry": -0.8})
    choices = [["nice", "okay"], ["dull", "dry"]]
    shown: list[str] = []

    def accepts(texts) -> np.ndarray:  # type: ignore[no-untyped-def,type-arg]
        shown.extend(texts)
        return np.array(["okay" not in text and "dull" not in text for text in texts])

    free = hunt(TextFooler(prefer="harmful"), Space("good fun", choices), score)
    bound = hunt(TextFooler(prefer="harmful"), Space("good fun", choices, predicate=accepts), score)
    assert free.found == "okay dull"
    assert bound.found == "nice dry"
    assert "good dull" not in shown  # asked about steps that are taken only


@pytest.mark.parametrize("attack", [Pwws(), Clare(), DeepWordBug()], ids=lambda attack: type(attack).__name__)
def test_a_replay_takes_the_next_stored_substitute_where_the_predicate_rejects(attack: Attack) -> None:
    score = adding({"good": 2.0, "fun": 1.0, "awful": -2.5, "poor": -2.0})
    choices = [["awful", "poor"], []]
    accepts = lambda texts: np.array(["awful" not in text for text in texts])  # noqa: E731
    assert hunt(attack, Space("good fun", choices), score).found == "awful fun"
    assert hunt(attack, Space("good fun", choices, predicate=accepts), score).found == "poor fun"
    never = lambda texts: np.zeros(len(texts), bool)  # noqa: E731
    assert hunt(attack, Space("good fun", choices, predicate=never), score).found is None


REPLAYED = {f"{name}-{variant}" for name in ("Pwws", "Clare", "DeepWordBug") for variant in ("paper", "code")}


@pytest.mark.parametrize("name", sorted(BLIND.keys() - REPLAYED))
def test_any_flip_ends_a_walk_even_if_another_substitute_lowers_the_label_more(name: str) -> None:
    scores = {"a": [0.5, 0.3, 0.2], "b": [0.40, 0.45, 0.15], "c": [0.36, 0.33, 0.31]}
    hunted = hunt(ATTACKS[name], Space("a", [["c", "b"]]), lambda text: scores.get(text, [0.4, 0.3, 0.3]), Goal(0))
    assert hunted.found == "b"


def test_towards_a_target_the_target_score_decides() -> None:
    scores = {
        "a": [0.6, 0.2, 0.2],
        "[UNK]": [0.4, 0.3, 0.3],
        "b": [0.1, 0.8, 0.1],  # flips, but to the wrong label
        "c": [0.3, 0.3, 0.4],
    }
    assert hunt(TextFooler(), Space("a", [["b", "c"]]), scores.__getitem__, Goal(0, 2)).found == "c"


# ---------------------------------------------------------------------- every attack, every variant


@pytest.mark.parametrize("name", BLIND)
def test_claims_are_flips_of_the_space(name: str) -> None:
    broken = possible = 0
    for seed in range(60):
        victim, rng = Additive(seed, quadratic=0.5), np.random.default_rng(seed)
        whole = random_space(rng)
        accepts = (lambda texts: np.array([len(t) % 3 > 0 for t in texts])) if seed % 2 else None
        space = Space(whole.original, whole.choices, whole.max_swaps, accepts)
        label = int(victim.predict([str(space.original)])[0])
        hunted = hunt(ATTACKS[name], space, lambda text, victim=victim: victim.scores([text])[0], Goal(label))
        possible += brute_minimum(victim, whole, label) is not None
        if hunted.point is not None:
            broken += 1
            assert space.contains(hunted.point)
            assert victim.predict([space.text(hunted.point)])[0] != label
    assert broken > possible / 4


@pytest.mark.parametrize("name", ATTACKS)
def test_same_answers_for_any_batch_and_exact_budgets(name: str, words: Victim) -> None:
    spaces = [space_of(seed) for seed in range(12)]
    labels = [int(words.predict([space.original.input])[0]) for space in spaces]
    seen = []
    for width, max_rows in ((1, 5), (64, 1000)):
        items = [Item(key, space, label) for key, (space, label) in enumerate(zip(spaces, labels, strict=True))]
        engine = Engine(words, width=width, max_rows=max_rows)
        answered = answer_all(Find(attack=ATTACKS[name]), words, items, engine)
        seen.append({a.item.key: essence(a.answer) for a in answered})
    assert seen[0] == seen[1]
    assert {kind for kind, _, _ in seen[0].values()} == {"broken", "unknown"}
    for key, (_, _, queries) in seen[0].items():
        answer = lp.find(words, spaces[key], labels[key], attack=ATTACKS[name], max_queries=max(1, queries - 1))
        assert answer.queries <= max(1, queries - 1)
        same = lp.find(words, spaces[key], labels[key], attack=ATTACKS[name], max_queries=queries)
        assert (same.kind, same.queries) == (seen[0][key][0], queries)


def essence(answer: lp.Broken | lp.Unknown | None) -> tuple[str, str | None, int]:
    assert answer is not None
    return answer.kind, getattr(answer, "witness", None), answer.queries


@pytest.fixture(scope="module")
def words() -> Victim:
    return word_model("cnn", filters=5, widths=(2, 3))


EDGES = [
    Space("", []),
    Space("w0", [[]]),
    Space("w0", [["w0s0", "w0s1"]]),
    Space("w0 w1", [["w0s0"], ["w1s0"]], 0),
    Space("w0 w0. W0!", [["w0s0"], [], ["w0s0"]]),
]


@pytest.mark.parametrize("name", ATTACKS)
def test_edges_end_without_a_false_claim(name: str, words: Victim) -> None:
    for space in EDGES:
        label = int(words.predict([space.original.input])[0])
        flat = hunt(ATTACKS[name], space, lambda text: [0.5, 0.5, 0.0], Goal(0), [1.0] * space.n)
        assert flat.found is None  # a tie that the label wins, and no substitute that changes anything
        answer = lp.find(words, space, label, attack=ATTACKS[name])
        assert answer.kind == "unknown" or brute_minimum(words, space, label) is not None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TextFooler(hide="shown"), "expected hide out of masked, deleted, got 'shown'"),  # type: ignore[arg-type]
        (lambda: TextFooler(prefer="x"), "expected prefer out of similar, harmful, got 'x'"),  # type: ignore[arg-type]
        (lambda: Bae(prefer="x"), "expected prefer out of similar, harmful, got 'x'"),  # type: ignore[arg-type]
        (lambda: TextBugger(rank="x"), "expected rank out of sentence, word, gradient, got 'x'"),  # type: ignore[arg-type]
        (lambda: DeepWordBug(rank="x"), "expected rank out of combined, head, tail, masked, deleted, got 'x'"),  # type: ignore[arg-type]
        (lambda: DeepWordBug(step="x"), "expected step out of first, greedy, got 'x'"),  # type: ignore[arg-type]
        (lambda: DeepWordBug(tail_weight=-1.0), r"expected tail_weight >= 0 and finite, got -1.0"),
        (lambda: DeepWordBug(tail_weight=float("nan")), r"expected tail_weight >= 0 and finite, got nan"),
        (lambda: BertAttack(max_share=0.0), r"expected max_share in \(0, 1\], got 0.0"),
        (lambda: A2T(max_share=1.5), r"expected max_share in \(0, 1\], got 1.5"),
        (lambda: A2T(at_least=0), "expected at_least >= 1, got 0"),
    ],
)
def test_settings_are_checked(make, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        make()
