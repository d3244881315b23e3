"""SAFER and RanMASK as victims: pure, drawn as they say, joined as they say, saved and loaded."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lexproof as lp
from lexproof.candidates import Table
from lexproof.errors import InputError, ModelError
from lexproof.points import MASKED
from lexproof.space import Space
from lexproof.text import Input, Text
from lexproof.victims.base import Victim
from lexproof.victims.labels import LabelOnly
from lexproof.victims.safer_sets import SynonymSets, is_one_word
from lexproof.victims.smoothed import RanMask, Safer, Smoothed
from lexproof.victims.smoothed_noise import Masking, generator, mask_of
from small_victims import WORDS, transformer_victim, word_victim
from toys import Additive

TEXTS: list[Input] = [
    "w1 w2, w3 w4 - w5 w6",
    "w6 w5 w4 w3 w2 w1",
    "w1 w2, w3 w4 - w5 w7",
    "W1 w2's never-seen",
    ("w3 w4", "w1 w2 w5 w9 w8"),
    "w1 w2",
    "w1",
    "...",
    "",
]
TABLE = {f"w{i}": [f"w{i + 1}"] for i in (1, 2, 4, 5, 8)}  # components 1 2 3, 4 5 6, 8 9


def sets(size: int = 100) -> SynonymSets:
    return SynonymSets.of(Table(TABLE), WORDS, size)


def both(base: Victim | None = None, **settings: Any) -> list[Smoothed]:
    base = word_victim("cnn", 1) if base is None else base
    return [RanMask(base, rate=0.5, **settings), Safer(base, sets(), **settings)]


# ---------------------------------------------------------------------- pure


@pytest.mark.parametrize("ensemble", ["logit", "vote"])
def test_scores_depend_on_seed_and_text_alone(ensemble: str) -> None:
    for victim, again, other in zip(
        both(samples=20, ensemble=ensemble),
        both(samples=20, ensemble=ensemble),
        both(samples=20, ensemble=ensemble, seed=1),
        strict=True,
    ):
        together = victim.scores(TEXTS)
        alone = np.concatenate([again.scores([text]) for text in reversed(TEXTS)])[::-1]
        assert np.abs(together - alone).max() < 1e-6
        assert np.array_equal(victim.scores([TEXTS[0]] * 3)[0], victim.scores([TEXTS[0]] * 3)[2])
        assert np.abs(together - other.scores(TEXTS))[:5].max() > 1e-3
        assert victim.scores([]).shape == (0, 3)
        assert np.allclose(together.sum(axis=1), 1)


def test_other_texts_have_other_masks() -> None:
    victim = RanMask(Additive(), rate=0.5, samples=30)

    def masks(text: str) -> list[tuple[bool, ...]]:
        copies = victim.copies(text, 30, generator(victim.seed, "predict", text))
        return [tuple(word == victim.randomiser.mask for word in str(copy).split()) for copy in copies]

    assert masks("a b c d e f") == masks("a b c d e f") != masks("a b c d e g")
    assert len(set(masks("a b c d e f"))) > 5


def test_the_base_is_asked_about_many_texts_at_once() -> None:
    base = Additive()
    calls: list[int] = []
    scores = base.scores
    base.scores = lambda inputs: calls.append(len(inputs)) or scores(inputs)  # type: ignore[method-assign, func-returns-value]
    victim = RanMask(base, rate=0.5, samples=100)
    texts = [f"a b c d e f g h i j k{i}" for i in range(100)]
    found = victim.scores(texts)
    assert len(calls) == 2
    assert np.allclose(found[[0, 99]], victim.scores([texts[0], texts[99]]))


# ---------------------------------------------------------------------- what is drawn


@pytest.mark.parametrize(
    ("words", "rate", "kept"), [(0, 0.7, 0), (1, 0.7, 1), (2, 0.9, 2), (10, 0.7, 3), (20, 0.05, 19)]
)
def test_how_many_words_stay(words: int, rate: float, kept: int) -> None:
    assert Masking(rate).kept(words) == kept
    text = " ".join(f"w{i}" for i in range(words))
    for copy in Masking(rate, "M").copies(text, 20, np.random.default_rng(0)):
        assert sum(word != "M" for word in str(copy).split()) == kept


def test_every_choice_of_words_is_equally_likely() -> None:
    copies = Masking(0.6, "M").copies("a b c d e", 20_000, np.random.default_rng(0))
    counts = Counter(tuple(i for i, word in enumerate(str(copy).split()) if word != "M") for copy in copies)
    assert counts.keys() == set(combinations(range(5), 2))
    expected = 20_000 / comb(5, 2)
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 27.9  # chi-square, 9 df, 0.1 %


def test_every_word_is_drawn_from_its_set_with_its_gaps_and_case() -> None:
    victim = Safer(Additive(), sets())
    copies = victim.copies("W1, w5 - 'xyz'\n", 6000, np.random.default_rng(0))
    counts = Counter(map(str, copies))
    wanted = {f"{first}, {second} - 'xyz'\n" for first in ("W1", "W2", "W3") for second in ("w4", "w5", "w6")}
    assert counts.keys() == wanted
    assert sum((count - 6000 / 9) ** 2 / (6000 / 9) for count in counts.values()) < 26.1  # 8 df, 0.1 %


def test_the_premise_of_a_pair_stays() -> None:
    for victim in both():
        copies = victim.copies(("w1 w2 w4", "w1 w2 w4 w5"), 20, np.random.default_rng(0))
        assert {copy[0] for copy in copies} == {"w1 w2 w4"}
        assert len({copy[1] for copy in copies}) > 3


@pytest.mark.parametrize("shape", ["mlp", "cnn", "lstm", "bilstm", "transformer"])
def test_a_masked_word_is_what_the_base_reads_as_masked(shape: str, tmp_path: Path) -> None:
    base = transformer_victim(tmp_path, 0) if shape == "transformer" else word_victim(shape, 0)
    text = Text.parse("w1, w2-x (w3) w4")
    space = Space(text, [()] * 4)
    points = np.where(np.random.default_rng(0).random((8, 4)) < 0.5, MASKED, 0).astype(np.int32)
    (wanted,) = base.score([(base.bind(space), points)])
    written = ["".join(space.pieces(point, mask_of(base))) for point in points]
    assert np.abs(base.scores(written) - wanted).max() < 1e-5
    assert len(np.unique(np.round(wanted, 6), axis=0)) > 2


def test_a_word_model_that_knows_the_word_for_masks_gets_another() -> None:
    from lexproof.victims.cnn import Cnn, CnnSettings
    from lexproof.victims.vocabulary import Vocabulary

    base = Cnn(Vocabulary(["unk", "unkx", "film"]), ("a", "b"), settings=CnnSettings(dim=3, filters=3, widths=(1,)))
    assert mask_of(base) == "unkxx"
    assert mask_of(Additive()) == "[UNK]"


# ---------------------------------------------------------------------- how it is joined


def test_logits_are_averaged() -> None:
    import torch

    for victim in both(samples=15):
        base: Any = victim.base
        for text in TEXTS:
            copies = victim.copies(text, 15, generator(0, "predict", text))
            logits = []
            for copy in copies:
                ids = base.vocabulary.encode_input(copy, base.settings.max_length)
                with torch.inference_mode():
                    logits.append(base.net(torch.tensor([ids]), torch.tensor([len(ids)]))[0].double())
            wanted = torch.softmax(torch.stack(logits).mean(dim=0), dim=0).numpy()
            assert victim.scores([text])[0] == pytest.approx(wanted, abs=1e-5)


def test_votes_are_counted() -> None:
    for victim in both(samples=7, ensemble="vote"):
        found = victim.scores(TEXTS)
        assert np.allclose(found * 7, np.round(found * 7))
        assert np.allclose(found.sum(axis=1), 1)
        for row, text in zip(found, TEXTS, strict=True):
            copies = victim.copies(text, 7, generator(0, "predict", text))
            votes = Counter(int(victim.base.predict([copy])[0]) for copy in copies)
            assert row.tolist() == [votes[label] / 7 for label in range(3)]
        assert victim.rounding == pytest.approx(2 / 7)


def test_probabilities_of_zero_do_no_harm() -> None:
    base = lp.BlackBox(lambda texts: [[1.0, 0.0] if "a" in text else [0.4, 0.6] for text in texts], ["no", "yes"])
    found = RanMask(base, rate=0.5, samples=20).scores(["a b c d", "b c"])
    assert np.isfinite(found).all()
    assert found[0, 0] > 0.9


def test_what_cannot_be_joined_is_refused() -> None:
    margins = lp.BlackBox(lambda texts: [[-1.0, 2.0]] * len(texts), ["no", "yes"])
    with pytest.raises(ModelError, match=r"probabilities for ensemble 'logit'.*use 'vote'"):
        RanMask(margins).scores(["a b"])
    assert RanMask(margins, ensemble="vote").scores(["a b"]).tolist() == [[0.0, 1.0]]
    with pytest.raises(InputError, match="got labels only; use 'vote'"):
        RanMask(LabelOnly(margins))
    assert RanMask(LabelOnly(margins), ensemble="vote").predict(["a"]).tolist() == [1]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"samples": 0}, "expected samples to be a whole number of at least 1, got 0"),
        ({"ensemble": "mean"}, "expected ensemble logit or vote, got 'mean'"),
        ({"rate": 1.0}, r"expected a mask rate in \(0, 1\), got 1.0"),
        ({"seed": -1}, "expected seed to be a whole number of at least 0, got -1"),
    ],
)
def test_bad_settings(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        RanMask(Additive(), **settings)


# ---------------------------------------------------------------------- like any victim


def test_attacks_find_texts_that_fool_it_as_text() -> None:
    text = "w1 w2 w3 w4 w5 w6"
    space = Space(text, [WORDS[8:14]] * 6, 3)
    for victim in both(samples=9):
        assert not victim.has_gradients
        label = int(victim.predict([text])[0])
        found = lp.find(victim, space, label=label, attack="beam")
        assert isinstance(found, lp.Broken)
        assert victim.predict([found.witness])[0] != label


def test_fingerprints_tell_settings_sets_and_bases_apart() -> None:
    base = word_victim("cnn", 1)
    found = [
        RanMask(base).fingerprint,
        RanMask(base, rate=0.5).fingerprint,
        RanMask(base, samples=5).fingerprint,
        RanMask(base, ensemble="vote").fingerprint,
        RanMask(base, seed=1).fingerprint,
        RanMask(word_victim("cnn", 2)).fingerprint,
        Safer(base, sets()).fingerprint,
        Safer(base, sets(2)).fingerprint,
        Safer(base, SynonymSets.of(Table({"w1": ["w2"]}), WORDS)).fingerprint,
    ]
    assert len(set(found)) == len(found)
    assert RanMask(base).fingerprint == RanMask(word_victim("cnn", 1)).fingerprint


def test_caveats() -> None:
    for logit, vote in zip(both(), both(ensemble="vote"), strict=True):
        assert any("100 copies" in said and "fixed" in said for said in logit.caveats)
        assert any("speak for the smoothed classifier" in said for said in logit.caveats)
        assert not any("blinds" in said for said in logit.caveats)
        assert any("blinds attacks that follow scores" in said for said in vote.caveats)


# ---------------------------------------------------------------------- folders


@pytest.mark.parametrize("kind", ["cnn", "transformer"])
def test_saved_and_loaded(kind: str, tmp_path: Path) -> None:
    base = transformer_victim(tmp_path / "t", 0) if kind == "transformer" else word_victim(kind, 1)
    for victim in both(base, samples=9, ensemble="vote", seed=3):
        victim.training = {"defense": "some"}
        folder = tmp_path / victim.kind
        victim.save(folder)
        victim.save(folder)  # replaces the older one
        loaded = lp.load(folder)
        assert type(loaded) is type(victim)
        assert loaded.fingerprint == victim.fingerprint
        assert loaded.labels == victim.labels
        assert loaded.training == {"defense": "some"}
        assert np.abs(loaded.scores(TEXTS) - victim.scores(TEXTS)).max() < 1e-6
        named = lp.load(folder, labels=["x", "y", "z"], samples=4, ensemble="logit")
        assert (named.labels, named.samples, named.ensemble) == (("x", "y", "z"), 4, "logit")
        assert not list(tmp_path.glob(".*"))


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    both()[1].save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "model.json", "sets.json"]
    assert lp.load(tmp_path).kind == "safer"


def test_damaged_folders(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    both()[1].save(folder)
    record = json.loads((folder / "model.json").read_text())

    def refuse(problem: str, **changed: Any) -> None:
        (folder / "model.json").write_text(json.dumps({**record, **changed}))
        with pytest.raises(ModelError, match=problem):
            lp.load(folder)

    refuse("expected format 1", format=2)
    refuse("expected config as an object", config=[])
    refuse("ensemble logit or vote, got 'x'", config={**record["config"], "ensemble": "x"})
    refuse("cannot load", config={**record["config"], "other": 1})
    refuse("cannot load", config={**record["config"], "samples": "many"})
    refuse("expected 3 labels", labels=["a", "b"])
    (folder / "model.json").write_text(json.dumps(record))
    (folder / "sets.json").write_text(json.dumps({"graph": {"a": ["b"]}, "size": 3}))
    with pytest.raises(ModelError, match="both directions"):
        lp.load(folder)
    (folder / "sets.json").unlink()
    with pytest.raises(ModelError, match=r"expected sets\.json"):
        lp.load(folder)
    with pytest.raises(ModelError, match="expected a base that can be saved, got one of kind 'additive'"):
        RanMask(Additive()).save(tmp_path / "n")
    assert not (tmp_path / "n").exists()


# ---------------------------------------------------------------------- sets


def test_a_small_component_shares_one_set() -> None:
    own = sets()
    assert set(own("w1")) == set(own("w2")) == set(own("w3")) == {"w1", "w2", "w3"}
    assert own("w2")[0] == "w2"
    assert own("w7") == ("w7",)
    assert own("never") == ("never",)


def test_the_words_of_a_large_component_have_their_nearest() -> None:
    chain = SynonymSets.of(Table({f"v{i:02}": [f"v{i + 1:02}"] for i in range(30)}), [f"v{i:02}" for i in range(30)], 5)
    assert set(chain("v10")) == {"v08", "v09", "v10", "v11", "v12"}
    assert all(len(chain(f"v{i:02}")) == 5 for i in range(31))
    assert set(chain("v00")) == {f"v{i:02}" for i in range(5)}
    whole = SynonymSets(chain.graph, 31)
    assert {frozenset(whole(word)) for word in whole.graph} == {frozenset(whole.graph)}


def test_sets_do_not_depend_on_order_and_history() -> None:
    first, second = sets(2), SynonymSets.of(Table(dict(reversed(TABLE.items()))), reversed(WORDS), 2)
    assert [first(word) for word in WORDS] == [second(word) for word in reversed(WORDS)][::-1]
    assert first.fingerprint == second.fingerprint


def test_sets_are_written_in_the_case_of_the_word() -> None:
    own = SynonymSets.of(Table({"Film": ["movie", "motion picture", "film"]}), ["Film"])
    assert own("FILM") == ("FILM", "MOVIE")
    assert own("Film") == ("Film", "Movie")
    assert own("movie") == ("movie", "film")


def test_bad_sets() -> None:
    with pytest.raises(InputError, match="at least 1 word, got size 0"):
        SynonymSets({}, 0)
    with pytest.raises(InputError, match="both directions, got 'a' joined to 'b'"):
        SynonymSets({"a": ["b"], "b": []})


def test_one_word_stays_one_word_in_any_text() -> None:
    rng = np.random.default_rng(0)
    pieces = ["a", "é", "e\u0301", "x1", "'", "-", "’", "‐", " ", "_", ".", "\u0301", "ß"]
    words = 0
    for _ in range(4000):
        text = Text.parse("".join(rng.choice(pieces, int(rng.integers(1, 9)))))
        new = "".join(rng.choice(pieces, int(rng.integers(1, 5))))
        if not len(text) or not is_one_word(new):
            continue
        changed = text.swap({int(rng.integers(len(text))): new})
        assert Text.parse(str(changed)) == changed
        words += 1
    assert words > 500
    assert not any(map(is_one_word, ["", "two words", "a-", "-a", "...", " a", "\u0301"]))
