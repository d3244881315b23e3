"""Brackets of the safe radius: what is asked, what is answered, what is refused."""

import contextlib
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lexproof as lp
from lexproof.certify.deadline import TimeUp
from lexproof.errors import EvidenceError, InputError, NoRule
from lexproof.safe_radius.answer import RadiusBracket, radius_from_json
from lexproof.safe_radius.question import Asked, radii
from lexproof.safe_radius.recheck import recheck_radius
from lexproof.safe_radius.settings import Settings, norm_of
from lexproof.victims.base import Victim
from small_victims import SHAPES, lean, transformer_victim, word_victim

TEXT = "w1 w2 w9 w3 w2"
NORMS = [1, 2, math.inf]


def victim_of(shape: str, folder: Path) -> Victim:
    return transformer_victim(folder, 3) if shape == "transformer" else word_victim(shape, 3)


@pytest.mark.parametrize("shape", [*SHAPES, "transformer"])
def test_every_kind_of_network_gets_a_bracket_that_holds(shape: str, tmp_path: Path) -> None:
    victim = victim_of(shape, tmp_path)
    for norm in NORMS if shape in ("mlp", "cnn") else [2]:  # the others' laws have all norms
        (brackets,) = lp.radii(victim, [TEXT], norm=norm)
        assert [own.words for own in brackets] == [(0,), (1,), (2,), (3,), (4,)]
        for own in brackets:
            assert own.norm == norm
            assert own.lower >= 0
            assert own.upper is None or own.lower <= own.upper
            recheck_radius(victim, own)
            assert radius_from_json(own.to_json()) == own
        assert any(own.lower > 0 for own in brackets)
        assert any(own.upper is not None for own in brackets)


@pytest.mark.parametrize("shape", ["cnn", "lstm"])
def test_words_that_move_together_are_less_safe(shape: str) -> None:
    victim = word_victim(shape, 5)
    pair = lp.radius(victim, TEXT, [0, 2], uppers=["descent", "mcts"])
    for word in (0, 2):
        alone = lp.radius(victim, TEXT, [word], uppers=[])
        assert pair.lower <= alone.lower * 1.02  # both are within a percent of what is certified
    recheck_radius(victim, pair)
    assert pair.diameter == pytest.approx(math.sqrt(2) * alone.diameter)


def test_a_batch_answers_as_each_text_alone() -> None:
    victim = word_victim("cnn-deep", 2)
    texts = [TEXT, "w7", "w4 w4 w5", "", "w1 never w2"]
    together = list(lp.radii(victim, texts, uppers=["descent"]))
    assert [len(own) for own in together] == [5, 1, 3, 0, 3]
    for text, brackets in zip(texts, together, strict=True):
        (alone,) = lp.radii(victim, [text], uppers=["descent"])
        for one, other in zip(alone, brackets, strict=True):
            assert one.lower == pytest.approx(other.lower, rel=0.011)


def test_any_replacement_of_a_word_is_safe_where_all_of_the_box_is_proven() -> None:
    victim = word_victim("mlp", 1)
    label = int(victim.predict([TEXT])[0])
    lean(victim, label, 1000.0)
    bracket = lp.radius(victim, TEXT, [1])
    assert bracket.any_replacement
    assert bracket.lower == bracket.diameter
    assert bracket.normalized == 1.0
    assert bracket.upper is None
    recheck_radius(victim, bracket)


def test_a_word_that_is_never_read_may_be_anything() -> None:
    victim = word_victim("cnn", 1, max_length=3)
    bracket = lp.radius(victim, TEXT, [4])
    assert bracket.any_replacement
    assert bracket.upper is None
    recheck_radius(victim, bracket)
    assert not lp.radius(victim, TEXT, [2, 4]).any_replacement


def test_the_time_limit_keeps_what_is_proven() -> None:
    victim = word_victim("cnn", 3)
    (brackets,) = lp.radii(victim, [TEXT], time_limit=0)
    assert all(own.lower == 0 and own.upper is None for own in brackets)
    late = "the time limit was reached before all was tried for the lower end, descent, other words"
    assert all(own.reason == late for own in brackets)


def test_proofs_leave_time_for_upper_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Proofs that would take for ever end in time, and say so; the rest is whole."""
    from lexproof.safe_radius import lower

    def slow(network: Any, labels: Any, *_: Any, check: Any, **__: Any) -> Any:
        with contextlib.suppress(TimeUp):
            while True:
                check()
        return torch.zeros(len(labels), dtype=torch.float64)

    torch = pytest.importorskip("torch")
    monkeypatch.setattr(lower, "certified_radii", slow)
    bracket = lp.radius(word_victim("cnn", 3), TEXT, [2], time_limit=2)
    assert bracket.upper is not None
    assert bracket.reason == "the time limit was reached before all was tried for the lower end"


def test_blocks_are_cut_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Index sets of one text may be bounded apart; texts come out whole and in order, each when it is finished."""
    from lexproof.safe_radius import question

    victim = word_victim("cnn", 3)
    asked = [
        Asked(lp.Text.parse(text), sets) for text, sets in (("w1 w2 w3", [(0,), (1, 2)]), ("", []), (TEXT, [(4,)]))
    ]
    wanted = list(radii(victim, asked, Settings()))
    done: list[int] = []
    monkeypatch.setattr(question, "_FIRST", 1)
    monkeypatch.setattr(question, "_MOST", 1)
    found = radii(victim, asked, Settings(), done.append)
    first = next(found)
    assert done == [1, 2]
    for own, other in zip([first, *found], wanted, strict=True):
        assert [bracket.words for bracket in own] == [bracket.words for bracket in other]
        for one, two in zip(own, other, strict=True):
            assert one.lower == pytest.approx(two.lower, rel=1e-6)
            assert one.replacement == two.replacement
    assert done == [1, 2, 3]


def test_one_word_of_a_set_may_do() -> None:
    """A flip of one word is a flip of every set that it is in."""
    for seed in range(4):
        victim = word_victim("cnn", seed)
        for norm in (1, 2, math.inf):
            one, two, both = (lp.radius(victim, TEXT, words, norm=norm) for words in ([0], [2], [0, 2]))
            nearest = min(own.upper for own in (one, two) if own.upper is not None)
            assert both.upper is not None and both.upper <= nearest * 1.05
            words = [own.replacement.distance for own in (one, two) if own.replacement is not None]
            assert (both.replacement is None) == (not words)
            if both.replacement is not None:
                assert both.replacement.distance <= min(words)
                recheck_radius(victim, both)


def test_tree_search_takes_one_word_too() -> None:
    victim = word_victim("cnn", 3)
    words, tree = (lp.radius(victim, TEXT, [2], uppers=[name]).replacement for name in ("words", "mcts"))
    assert words == tree


def test_unknown_words_are_replaced_too() -> None:
    victim = word_victim("cnn", 3)
    found = [lp.radius(victim, f"w1 xyzzy {word}", [1], uppers=["words"]) for word in ("w3", "w5", "w7")]
    assert any(own.replacement is not None for own in found)
    for own in found:
        recheck_radius(victim, own)


def test_a_flip_that_contradicts_a_proof_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from lexproof.safe_radius import lower

    victim = word_victim("cnn", 3)
    monkeypatch.setattr(lower, "certified_radii", lambda network, labels, *_, **__: torch.full((len(labels),), 1e3))
    with pytest.raises(EvidenceError, match=r"a flip at distance .* contradicts a proof for 1000.0: words"):
        list(lp.radii(victim, [TEXT]))


@pytest.mark.parametrize(
    "given,message",
    [
        ({"norm": 3}, "expected the norm 1, 2 or inf, got 3"),
        ({"norm": "l3"}, "expected the norm 1, 2 or inf, got 'l3'"),
        ({"uppers": ["magic"]}, "expected upper ends out of descent, words, mcts, got 'magic'"),
        ({"tolerance": 0}, "expected a tolerance between 0 and 1, got 0"),
        ({"time_limit": -1}, "expected time_limit >= 0, got -1"),
        ({"neighbors": 0}, "expected neighbors >= 1, got 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        lp.radius(word_victim("mlp", 0), TEXT, [0], **given)  # type: ignore[arg-type]


def test_words_are_checked_before_anything_is_computed() -> None:
    victim = word_victim("mlp", 0)
    with pytest.raises(InputError, match="which has words 0 to 4, got 5"):
        lp.radius(victim, TEXT, [5])
    with pytest.raises(InputError, match="expected each word once, got 1 more than once"):
        lp.radius(victim, TEXT, [1, 1])


def test_words_are_those_that_the_text_splits_into() -> None:
    victim = word_victim("mlp", 0)
    own = lp.Text.from_words(["w1", "w2 w3"])
    for ask in (lambda: lp.radius(victim, own, [1]), lambda: lp.radii(victim, [own])):
        with pytest.raises(InputError, match=r"expected words as Text.parse finds them, \['w1', 'w2', 'w3'\], got"):
            ask()
    assert lp.radius(victim, lp.Text.parse(TEXT, premise="w3"), [1], uppers=[]).premise == "w3"


def test_a_black_box_has_no_embedding_to_move_in() -> None:
    victim = lp.BlackBox(lambda texts: [[0.4, 0.6]] * len(texts), labels=["a", "b"])
    with pytest.raises(NoRule, match="no embedding to move in: expected a victim with word vectors"):
        lp.radius(victim, TEXT, [0])


def test_norms_have_names() -> None:
    assert [norm_of(name) for name in (1, 2, math.inf, "1", "L2", "inf", "Linf", 2.0)] == [
        1, 2, math.inf, 1, 2, math.inf, math.inf, 2,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def bracket() -> tuple[Victim, RadiusBracket]:
    victim = word_victim("cnn", 3)
    for own in next(lp.radii(victim, [TEXT])):
        if own.flip is not None and own.replacement is not None and own.lower > 0:
            return victim, own
    raise AssertionError("no word of this text has both kinds of flips")


def tampered(own: RadiusBracket, what: str) -> RadiusBracket:
    assert own.flip is not None and own.replacement is not None and own.upper is not None
    first, *rest = own.flip.vectors
    changes: dict[str, object] = {
        "lower": {"lower": own.lower * 4},
        "upper": {"upper": own.upper / 2},
        "any": {"any_replacement": True, "lower": own.diameter},
        "whole": {"any_replacement": True},
        "diameter": {"diameter": own.diameter * 2},
        "distance": {"flip": replace(own.flip, distance=own.flip.distance / 2)},
        "shape": {"flip": replace(own.flip, vectors=((0.0,),))},
        "box": {"flip": replace(own.flip, vectors=((first[0] + 9, *first[1:]), *rest))},
        "text": {"replacement": replace(own.replacement, text=own.text)},
        "word distance": {"replacement": replace(own.replacement, distance=own.replacement.distance / 2)},
        "word upper": {
            "flip": None,
            "replacement": replace(own.replacement, distance=own.upper / 2),
            "upper": own.upper / 2,
        },
        "no upper": {"upper": None},
        "no flip": {"flip": None, "replacement": None},
        "nearer": {"replacement": replace(own.replacement, distance=own.replacement.distance / 2)},
        "predicted": {"predicted": (own.predicted + 1) % 3},
    }
    return replace(own, **changes[what])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "what,message",
    [
        ("lower", "is not proven: the bound of the margin is"),
        ("upper", "is not the distance of a flip"),
        ("any", "is not proven"),
        ("whole", "is not the diameter, and not all of the box"),
        ("diameter", "the diameter is"),
        ("distance", "the vectors are at distance"),
        ("shape", "expected vectors of shape"),
        ("box", "or outside the box"),
        ("text", "does not change words"),
        ("word distance", "is at distance .*, not at"),
        ("word upper", "is at distance .*, not at"),
        ("no upper", "the upper end None is not the distance of a flip"),
        ("no flip", "is not the distance of a flip"),
        ("nearer", "is at distance"),
        ("predicted", "the text is not read as class"),
    ],
)
def test_a_bracket_that_was_tampered_with_is_refused(
    bracket: tuple[Victim, RadiusBracket], what: str, message: str
) -> None:
    victim, own = bracket
    recheck_radius(victim, own)
    with pytest.raises(EvidenceError, match=message):
        recheck_radius(victim, tampered(own, what))


def test_flips_that_are_none_are_refused(bracket: tuple[Victim, RadiusBracket]) -> None:
    from lexproof.victims.balls import Item, opened

    victim, own = bracket
    assert own.flip is not None and own.replacement is not None
    text = lp.Text.parse(own.text)
    center = opened(victim, [Item(text, own.words)]).groups[0].network.center[0]
    still = replace(own.flip, vectors=tuple(map(tuple, center.tolist())), distance=0.0)
    with pytest.raises(EvidenceError, match="the vectors are read as class 0, not as"):
        recheck_radius(victim, replace(own, flip=still))
    (change,) = own.replacement.changed
    same = replace(own.replacement, text=own.text, changed=(replace(change, new=change.old),))
    with pytest.raises(EvidenceError, match="is read as class 0, not as"):
        recheck_radius(victim, replace(own, flip=None, replacement=same))


def test_flips_state_the_class_and_the_words_that_they_change(bracket: tuple[Victim, RadiusBracket]) -> None:
    victim, own = bracket
    assert own.flip is not None and own.replacement is not None
    other = ({0, 1, 2} - {own.predicted, own.flip.predicted}).pop()
    with pytest.raises(EvidenceError, match=f"not as {other}"):
        recheck_radius(victim, replace(own, flip=replace(own.flip, predicted=other)))
    other = ({0, 1, 2} - {own.predicted, own.replacement.predicted}).pop()
    with pytest.raises(EvidenceError, match=f"not as {other}"):
        recheck_radius(victim, replace(own, replacement=replace(own.replacement, predicted=other)))
    (change,) = own.replacement.changed
    lie = replace(own.replacement, changed=(replace(change, old="w23"),))
    with pytest.raises(EvidenceError, match="does not change words"):
        recheck_radius(victim, replace(own, replacement=lie))


def test_what_is_no_list_is_refused() -> None:
    victim = word_victim("mlp", 0)
    with pytest.raises(InputError, match="expected a list of texts, got one string, 'w1 w2 w9"):
        lp.radii(victim, TEXT)
    with pytest.raises(InputError, match=r"expected a list of upper ends such as \['descent'\], got the string"):
        lp.radius(victim, TEXT, [0], uppers="descent")
    for words in (1, None, "1"):
        with pytest.raises(InputError, match="expected a list of the numbers of words, got"):
            lp.radius(victim, TEXT, words)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected a text, or a pair of premise and hypothesis, got None"):
        lp.radius(victim, None, [0])  # type: ignore[arg-type]


def test_index_sets_may_be_listed() -> None:
    victim = word_victim("mlp", 0)
    (found,) = lp.radii(victim, [TEXT], [(3,), (4, 0)], uppers=[])
    assert [own.words for own in found] == [(3,), (0, 4)]


def test_a_bracket_in_one_line(bracket: tuple[Victim, RadiusBracket]) -> None:
    _, own = bracket
    assert f"{own.lower:.6g} <= L2 radius of words {own.words[0]} <= {own.upper:.6g}" in str(own)
    assert len(str(own)) < 120


def test_words_of_several_tokens_have_another_distance(bracket: tuple[Victim, RadiusBracket]) -> None:
    victim, own = bracket
    assert own.replacement is not None
    (change,) = own.replacement.changed
    for word in range(24):
        new = f"w{word} {change.new}"
        text = str(lp.Text.parse(own.text).swap({change.position: new}))
        if victim.predict([text])[0] != own.predicted:
            break
    longer = replace(own.replacement, text=text, changed=(replace(change, new=new),))
    with pytest.raises(EvidenceError, match="is at distance nan, not at"):
        recheck_radius(victim, replace(own, replacement=longer))


def test_ends_that_contradict_each_other_are_refused(
    bracket: tuple[Victim, RadiusBracket], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from lexproof.safe_radius import lower

    victim, own = bracket
    monkeypatch.setattr(lower, "margin_bound", lambda *_: torch.ones(1))
    with pytest.raises(EvidenceError, match=r"a flip at distance .* contradicts a proof for"):
        recheck_radius(victim, replace(own, lower=own.diameter))


def test_words_that_are_not_read_have_no_flip(bracket: tuple[Victim, RadiusBracket]) -> None:
    victim = word_victim("cnn", 1, max_length=3)
    unread = lp.radius(victim, TEXT, [4])
    with pytest.raises(EvidenceError, match="the victim does not read these words"):
        recheck_radius(victim, replace(unread, flip=bracket[1].flip))


def test_words_outside_the_text_are_refused(bracket: tuple[Victim, RadiusBracket]) -> None:
    with pytest.raises(InputError, match="expected words of the text, which has words 0 to 4, got 9"):
        recheck_radius(bracket[0], replace(bracket[1], words=(9,)))


def test_a_bracket_is_of_its_victim(bracket: tuple[Victim, RadiusBracket]) -> None:
    with pytest.raises(InputError, match="expected the victim that the bracket was made for"):
        recheck_radius(word_victim("cnn", 4), bracket[1])


def test_json_of_something_else_is_refused(bracket: tuple[Victim, RadiusBracket]) -> None:
    with pytest.raises(InputError, match="expected 'answer' to be 'radius', got 'broken'"):
        radius_from_json({"answer": "broken"})
    record = bracket[1].to_json()
    del record["lower"]
    with pytest.raises(InputError, match="expected the keys of a radius, missing lower"):
        radius_from_json(record)


def test_settings_take_norms_by_name() -> None:
    assert Settings(norm=norm_of("inf")).norm == math.inf
