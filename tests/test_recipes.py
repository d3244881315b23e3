"""Published attacks as a whole: search, candidates and constraints by name and variant."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import lexproof as lp
from lexproof.candidates import Table, from_spec
from lexproof.candidates.lexicon import embedded
from lexproof.candidates.specs import FORMS
from lexproof.constraints import PRESETS, Constraints
from lexproof.errors import InputError, UnknownName
from lexproof.recipes import TABLE, VARIANTS, recipe

EVERY = [(name, variant) for name in TABLE for variant in VARIANTS]
NEEDS_MODEL, NEEDS_WORDS = ("bert-attack", "bae", "clare"), ("sp-attack",)
OFFLINE = [(name, variant) for name, variant in EVERY if name not in (*NEEDS_MODEL, *NEEDS_WORDS)]
MASKED = [(name, variant) for name, variant in EVERY if name in NEEDS_MODEL]
TEXT = "A good film about happy people who love a bad, slow and terrible story."


def filters_of(spec: object) -> list[str]:
    """The names of all filters in a spec of candidates."""
    assert isinstance(spec, dict)
    if spec["name"] == "union":
        return [name for part in spec["sources"] for name in filters_of(part)]
    return [rule["name"] for rule in spec.get("filters", [])]


def test_every_recipe_of_the_papers_is_there() -> None:
    assert set(TABLE) == {
        "textfooler", "pwws", "textbugger", "deepwordbug", "bert-attack", "bae", "clare", "a2t", "genetic", "sempso",
        "pdp", "sp-attack",
    }  # fmt: skip
    assert all({"paper", "benchmark"} <= set(rows) <= set(VARIANTS) for rows in TABLE.values())


@pytest.mark.parametrize(("name", "variant"), OFFLINE)
def test_recipes_run_offline_on_what_is_embedded(name: str, variant: str) -> None:
    made = recipe(name, variant)
    space = made.space(TEXT) if made.constraints.floor is None else made.constraints.updated(
        Constraints(floor=-1.0)  # without an encoder
    ).space(TEXT, made.candidates)  # fmt: skip
    assert space.open.size >= 3
    assert space.max_swaps >= 1
    assert type(made.attack).__module__.startswith("lexproof.attacks.")
    description = made.describe().splitlines()
    assert description[0] == f"{name} ({variant})"
    assert description[2] == f"candidates: {made.spec}"


@pytest.mark.parametrize(("name", "variant"), OFFLINE)
def test_no_recipe_offers_antonyms(name: str, variant: str) -> None:
    made = recipe(name, variant)
    words = [
        "good",
        "bad",
        "happy",
        "love",
        "hate",
        "slow",
        "fast",
        "terrible",
        "wonderful",
        "careful",
        "useful",
        "kind",
        "best",
        "worst",
        "always",
        "succeeds",
    ]
    offered = [(word, o.lower()) for word in words for o in made.candidates(lp.Text.parse(f"it {word}"))[1]]  # type: ignore[attr-defined]
    assert len(offered) > len(words)
    assert not [(word, option) for word, option in offered if embedded().opposed(word, option)]


@pytest.mark.parametrize(("name", "variant"), MASKED)
def test_masked_language_models_pass_the_same_filter(name: str, variant: str, tmp_path: Path) -> None:
    made = recipe(name, variant, masked_lm=tmp_path)
    assert {"no-antonyms", "stop-words"} <= set(filters_of(made.candidates.spec))  # type: ignore[attr-defined]
    assert made.candidates.source.spec["masked"] == (name != "bert-attack")  # type: ignore[attr-defined]


def test_vectors_and_sememes_of_ones_own_pass_the_same_filter(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("good 1 0.1\nbad 1 0.11\nfine 1 0.2\nfilm 0 1\n")
    made = recipe("textfooler", "code", neighbors=vectors)
    assert made.spec.startswith(f"neighbors:{vectors}?k=50&floor=0.5&")
    assert made.candidates(lp.Text.parse("good")) == (("fine",),)
    assert not any("embedded" in remark for remark in made.remarks)
    sememes = tmp_path / "sememes.json"
    sememes.write_text('{"good": {"adj": ["bad", "fine"]}}')
    assert recipe("sempso", sememes=sememes).candidates(lp.Text.parse("good")) == (("fine",),)


def test_every_source_that_proposes_words_filters_antonyms_unless_told_otherwise() -> None:
    told = {"table", "typos", "vocabulary"}  # what the user writes down, and spellings, are taken as they are
    filtered = {name for name, form in FORMS.items() if "no-antonyms" in form.filters}
    assert set(FORMS) - filtered == told | {"default"}
    words = lp.Text.parse("good bad happy love hate")
    for options, word in zip(from_spec("default?k=50&floor=-1")(words), words.words, strict=True):
        assert options and not [o for o in options if embedded().opposed(word, o)]
    mine = Table({"good": ["bad", "fine"]})
    assert mine(lp.Text.parse("good")) == (("bad", "fine"),)


def test_textfooler_is_as_published() -> None:
    paper, code, benchmark = (recipe("textfooler", variant) for variant in VARIANTS)
    assert (paper.spec, code.spec) == ("default?k=50&floor=0.7", "default?k=50&floor=0.5")
    assert (paper.attack.hide, code.attack.hide) == ("deleted", "masked")  # type: ignore[attr-defined]
    # one minus an angle of 0.5, and of 0.9 for texts below 15 words; never kept from one text to the next
    assert code.constraints == Constraints(
        floor=1 - 0.5 / math.pi, measure="angular", window=15, short_floor=1 - 0.9 / math.pi
    )
    assert benchmark.constraints == PRESETS["agnews"]
    assert recipe("textfooler", "benchmark", limits="imdb").constraints == PRESETS["imdb"]


def test_numbers_of_other_recipes() -> None:
    assert recipe("a2t").constraints == Constraints(max_share=0.1, least_swaps=4, floor=0.9)
    assert recipe("bert-attack", masked_lm="x").constraints == Constraints(max_share=0.4)
    assert recipe("bae", "code", masked_lm="x").constraints.floor == pytest.approx(0.936338, abs=1e-6)
    assert recipe("genetic").constraints.max_share == 0.2  # kept, which the released code does not
    assert recipe("deepwordbug").constraints == Constraints(max_swaps=30)
    assert recipe("pdp").space(TEXT).max_swaps == 3  # a quarter of 13 words


def test_every_benchmark_recipe_has_the_same_constraints() -> None:
    offline = set(TABLE) - set(NEEDS_WORDS)
    assert {recipe(name, "benchmark", masked_lm="x").constraints for name in offline} == {PRESETS["agnews"]}


def test_settings_go_before_those_of_the_variant() -> None:
    assert recipe("textfooler", "paper", hide="masked").attack.hide == "masked"  # type: ignore[attr-defined]


def test_candidates_of_ones_own_need_no_model() -> None:
    made = recipe("bae", candidates="default?k=3")
    assert made.spec == "default?k=3"
    assert made.constraints == Constraints(floor=0.8, window=15)


def test_a_recipe_says_what_it_leaves_out() -> None:
    assert "note: the embedded lexicon has about 7 neighbors of a word, seldom 50" in recipe("textfooler").describe()
    assert "note: WordNet stands in for HowNet" in recipe("sempso").describe()
    assert "note: left out: insertions" in recipe("clare", masked_lm="x").describe()
    assert "note: code: substitutes and limits as in the paper" in recipe("pwws", "code").describe()
    assert "limits: none" in recipe("pwws").describe()


def test_a_recipe_finds_what_its_space_holds() -> None:
    victim = lp.BlackBox(lambda texts: [[0.9, 0.1] if "movie" in t else [0.2, 0.8] for t in texts], labels=["n", "p"])
    made = recipe("pwws")
    space = made.space("a charming film")
    answer = lp.find(victim, space, 1, attack=made.attack, max_queries=made.max_queries(space))
    assert isinstance(answer, lp.Broken)
    assert answer.witness == "a charming movie"
    framed = recipe("pwws", "benchmark")
    assert framed.max_queries(space) == 150


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (("textfoler",), {}, "unknown recipe 'textfoler'; did you mean 'textfooler'\\? available: a2t, bae"),
        (("pwws", "papers"), {}, "unknown variant of recipe pwws 'papers'; did you mean 'paper'"),
        (("pwws", "benchmark"), {"limits": "mr"}, "unknown preset 'mr'; available: agnews"),
    ],
)
def test_unknown_names_list_what_exists(arguments: tuple[str, ...], settings: dict[str, str], message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        recipe(*arguments, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "variant"), MASKED)
def test_without_a_masked_language_model_it_says_what_to_do(name: str, variant: str) -> None:
    message = (
        f"expected a masked language model for {name}, got none; give --masked-lm FOLDER .* scripts/train_masked_lm.py"
    )
    with pytest.raises(InputError, match=message):
        recipe(name, variant)


def test_sp_attack_puts_the_first_words_of_a_list_anywhere(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("\n".join(["dull", "film", *(f"w{i}" for i in range(60))]))
    made = recipe("sp-attack", words=words, similarity=False)
    space = made.space("A charming Film")
    assert made.attack.weights == "paper"  # type: ignore[attr-defined]
    assert space.max_swaps == 1
    assert [len(options) for options in space.choices] == [50, 50, 50]
    assert space.choices[0][:2] == ("Dull", "Film") and space.choices[2][:2] == ("Dull", "W0")
    assert recipe("sp-attack", "code", words=words, similarity=False).attack.weights == "code"  # type: ignore[attr-defined]
    framed = recipe("sp-attack", "benchmark", words=words, similarity=False)
    assert (framed.constraints, framed.spec) == (PRESETS["agnews"], f"vocabulary:{words}")


def test_without_a_list_of_words_it_says_what_to_do() -> None:
    with pytest.raises(InputError, match="expected a list of words for sp-attack, got none; give --words FILE"):
        recipe("sp-attack")
