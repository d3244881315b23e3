"""Programs of transformers: for every point the graph reads what the victim reads for its text, or there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import lexproof as lp  # noqa: E402
from lexproof.errors import NoRule  # noqa: E402
from lexproof.space import Space  # noqa: E402
from lexproof.text import Text  # noqa: E402
from lexproof.victims.transformer import Transformer  # noqa: E402
from lexproof.victims.transformer_program import transformer_program  # noqa: E402

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [*SPECIAL, *(f"w{i}" for i in range(8)), "-", "ab", "xy", "##cd", "##zw", "xyzw",
          "efgh", "klgh", "efmn", "klmn"]  # fmt: skip
SHAPE = {"vocab_size": len(PIECES), "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
         "intermediate_size": 12, "max_position_embeddings": 32, "num_labels": 3, "initializer_range": 0.5}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path: Path = tmp_path_factory.mktemp("tokens") / "vocab.txt"
    path.write_text("\n".join(PIECES))
    return transformers.BertTokenizerFast(str(path))


def small(tokenizer: Any, max_length: int = 20, family: str = "Bert") -> Transformer:
    config = getattr(transformers, f"{family}Config")(**SHAPE, pad_token_id=0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = getattr(transformers, f"{family}ForSequenceClassification")(config)
    return Transformer.of(model, tokenizer, ["a", "b", "c"], max_length=max_length)


def check(victim: Transformer, space: Space) -> set[tuple[int, int]]:
    """That the graph gives every text of the space the victim's scores; the swaps that the program knows."""
    program = transformer_program(victim, space)
    region = program.region
    slots = {
        (int(word), int(choice)): (p, j)
        for p, places in enumerate(program.swaps[0])
        for j, (word, choice) in enumerate(places)
        if choice > 0
    }
    points = space.points()
    given = region.original.expand(len(points), -1, -1).clone()
    for b, word in zip(*np.nonzero(points), strict=True):
        slot = slots.get((int(word), int(points[b, word])))
        if slot is not None:
            given[b, region.places[0, slot[0]]] += region.changes[0, slot[0], slot[1]]
    scores = torch.softmax(program.graph.value(given), 1).numpy()
    assert np.abs(scores - victim.scores(space.render(points))).max() <= victim.rounding / 2
    return set(slots)


@pytest.mark.parametrize("family", ["Bert", "Roberta"])
def test_a_program_is_its_network(tokenizer: Any, family: str) -> None:
    victim = small(tokenizer, family=family)
    # unequal numbers of substitutes, and one that looks like the word it replaces, both being unknown
    space = Space("w1 never w3 w1", [["w2", "w5", "w7"], ["seen", "w4"], [], ["w0"]])
    assert check(victim, space) == {(0, 1), (0, 2), (0, 3), (1, 2), (3, 1)}
    pair = Space(Text.parse("w1 w2", premise="w3 w4"), [["w5"], ["w6", "w7"]])
    assert len(check(victim, pair)) == 3


@pytest.mark.parametrize("text", ["", "w1", "w1 w2"])
def test_a_program_without_swaps(tokenizer: Any, text: str) -> None:
    assert check(small(tokenizer), Space(text, [[] for _ in text.split()])) == set()


def test_words_that_are_never_read_may_have_any_substitute(tokenizer: Any) -> None:
    victim = small(tokenizer, max_length=5)  # 3 pieces of the text
    space = Space("w1 w2 w3 w4 w5", [["w6"], [], ["w7"], ["w1 w2", "w6"], ["w7"]])
    assert check(victim, space) == {(0, 1), (2, 1)}


@pytest.mark.parametrize("words", ["w1 w2 w2 w2 w2", "w3 w3 w2 w2 w2 w2 w2"])
def test_a_substitute_that_moves_what_is_cut_has_no_rule(tokenizer: Any, words: str) -> None:
    """Between equal words a substitute of two pieces changes one piece that is read, or none, but moves the others."""
    victim = small(tokenizer, max_length=6)
    text = words.split()
    choices = [[f"{text[0]} w2", "w4 w2"], ["w5"], *([] for _ in text[2:])]
    with pytest.raises(NoRule, match=r"no bound rule for the substitute 'w. w2' of word 0"):
        check(victim, Space(words, choices))


def test_a_word_that_draws_others_in_has_no_rule(tokenizer: Any) -> None:
    victim = small(tokenizer, max_length=5)
    with pytest.raises(NoRule, match="no bound rule for the substitute 'w1' of word 0, 'w1 w2'"):
        check(victim, Space(Text(("w1 w2", "w2", "w2"), ("", " ", " ", "")), [["w1"], [], ["w5"]]))


def test_words_that_together_are_another_piece_have_no_rule(tokenizer: Any) -> None:
    """xy and zw by themselves change one piece each; written together they are one piece."""
    victim = small(tokenizer)
    text = Text(("ab", "cd", "w1"), ("", "", " ", ""))
    with pytest.raises(NoRule, match="no bound rule for the words 'ab', 'cd' that run together"):
        check(victim, Space(text, [["xy"], ["zw"], ["w2"]]))
    assert len(check(victim, Space(text, [["xy"], ["zw"], ["w2"]], 1))) == 3  # never both
    assert len(check(victim, Space(text, [["xy"], [], ["w2"]]))) == 2


def test_words_in_one_piece_have_no_rule(tokenizer: Any) -> None:
    """Either swap changes the one piece that holds both words; a region of one place has not both."""
    text = Text(("ef", "gh", "w1"), ("", "", " ", ""))
    with pytest.raises(NoRule, match="no bound rule for the words 'ef', 'gh' that run together"):
        check(small(tokenizer), Space(text, [["kl"], ["mn"], ["w2"]]))


def test_words_with_a_hyphen_between_them_have_a_rule(tokenizer: Any) -> None:
    space = Space(Text(("w1", "w2", "w3"), ("", "-", " ", "")), [["w4", "w5"], ["w6"], ["w7"]])
    assert len(check(small(tokenizer), space)) == 4


def test_too_many_joined_words_have_no_rule(tokenizer: Any) -> None:
    count = 20
    text = Text(tuple(f"w{i % 4}" for i in range(count)), ("", *["-"] * (count - 1), ""))
    with pytest.raises(NoRule, match=r"no bound rule for the words 'w0', 'w1', .* that run together"):
        transformer_program(small(tokenizer, max_length=32), Space(text, [["w5"]] * count))


def test_the_padding_token_has_no_rule_where_positions_skip_it(tokenizer: Any) -> None:
    space = Space("w1 [PAD] w2", [["w3"], [], []])
    with pytest.raises(NoRule, match="no bound rule for the padding token in a text"):
        transformer_program(small(tokenizer, family="Roberta"), space)
    assert isinstance(lp.prove(small(tokenizer, family="Roberta"), space), lp.Robust | lp.Broken)


def test_substitutes_without_a_rule_are_named(tokenizer: Any) -> None:
    with pytest.raises(
        NoRule, match="no bound rule for the substitute 'abcd' of word 1, 'w2': expected one word piece"
    ):
        transformer_program(small(tokenizer), Space("w1 w2", [[], ["w3", "abcd"]]))
