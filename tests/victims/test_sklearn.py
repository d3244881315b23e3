"""Scikit-learn pipelines: probabilities, decision values, labels from classes_, refusals."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from lexproof.errors import ModelError

pytest.importorskip("sklearn")

from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from lexproof.space import Space
from lexproof.victims.sklearn import Sklearn

TEXTS = ["good great film", "great fun", "bad dull film", "dull awful mess", "so so film", "middling thing"]
TWO = ["pos", "pos", "neg", "neg", "pos", "neg"]
THREE = [2, 2, 0, 0, 1, 1]


def fitted(model, labels=TWO, vectorizer=None):
    return make_pipeline(vectorizer or CountVectorizer(), model).fit(TEXTS, labels)


def test_probabilities_and_labels():
    pipeline = fitted(MultinomialNB())
    victim = Sklearn(pipeline)
    assert victim.labels == ("neg", "pos") and victim.name == "CountVectorizer+MultinomialNB"
    np.testing.assert_array_equal(victim.scores(TEXTS), pipeline.predict_proba(TEXTS))
    assert [victim.labels[k] for k in victim.predict(TEXTS)] == pipeline.predict(TEXTS).tolist()
    assert victim.scores([]).shape == (0, 2)


@pytest.mark.parametrize("model", [LinearSVC(), RidgeClassifier(), Perceptron()])
def test_a_binary_decision_becomes_two_columns(model):
    pipeline = fitted(model)
    victim = Sklearn(pipeline, ["bad", "good"])
    decision = pipeline.decision_function(TEXTS)
    np.testing.assert_array_equal(victim.scores(TEXTS), np.stack([-decision, decision], axis=1))
    assert [pipeline.classes_[k] for k in victim.predict(TEXTS)] == pipeline.predict(TEXTS).tolist()


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC()])
def test_three_classes(model):
    pipeline = fitted(model, THREE, TfidfVectorizer())
    victim = Sklearn(pipeline)
    assert victim.labels == ("0", "1", "2")
    assert victim.predict(TEXTS).tolist() == pipeline.predict(TEXTS).tolist()


def test_a_point_has_the_score_of_its_text():
    victim = Sklearn(fitted(LogisticRegression()))
    space = Space("a good film", [[], ["bad", "dull"], ["mess"]])
    points = space.points()
    (found,) = victim.score([(victim.bind(space), points)])
    np.testing.assert_allclose(found, victim.scores(space.render(points)), atol=victim.rounding)


def test_what_is_not_a_fitted_classifier_is_refused():
    with pytest.raises(ModelError, match=r"expected a pipeline with predict_proba, .* or predict, got CountVectorizer"):
        Sklearn(CountVectorizer())
    with pytest.raises(ModelError, match="expected a fitted pipeline, got Pipeline without classes_; call fit first"):
        Sklearn(make_pipeline(CountVectorizer(), MultinomialNB()))
    with pytest.raises(ModelError, match="expected 2 labels, one a class, got 3"):
        Sklearn(fitted(MultinomialNB()), ["a", "b", "c"])
    with pytest.raises(ModelError, match="decision_function_shape='ovo'; use 'ovr'"):
        Sklearn(fitted(SVC(decision_function_shape="ovo"), THREE))


def test_exceptions_are_wrapped():
    with pytest.raises(ModelError, match=r"CountVectorizer\+MultinomialNB.predict_proba raised \w+: "):
        Sklearn(fitted(MultinomialNB())).scores([("premise", "hypothesis")])


def test_the_fingerprint_knows_what_was_learned():
    one, two = Sklearn(fitted(MultinomialNB())), Sklearn(fitted(MultinomialNB()))
    assert one.fingerprint == two.fingerprint
    assert Sklearn(fitted(MultinomialNB(), TWO[::-1])).fingerprint != one.fingerprint
    assert Sklearn(fitted(MultinomialNB(alpha=2))).fingerprint != one.fingerprint
    assert (
        Sklearn(fitted(MultinomialNB(), vectorizer=CountVectorizer(ngram_range=(1, 2)))).fingerprint != one.fingerprint
    )


NESTED = {
    "one against the rest": lambda: OneVsRestClassifier(LogisticRegression()),
    "calibrated": lambda: CalibratedClassifierCV(LinearSVC(random_state=0), cv=2),
    "forest": lambda: RandomForestClassifier(5, random_state=0),
    "pipeline": lambda: make_pipeline(make_pipeline(make_pipeline(LogisticRegression()))),
    "object array": lambda: make_pipeline(SVC(kernel="linear")),
}


@pytest.mark.parametrize("name", NESTED)
def test_the_fingerprint_knows_what_was_learned_deep_inside(name):
    texts, gold = TEXTS * 3, TWO * 3
    turned = ["neg" if label == "pos" else "pos" for label in gold]
    one, again, other = (
        Sklearn(make_pipeline(CountVectorizer(), NESTED[name]()).fit(texts, labels)) for labels in (gold, gold, turned)
    )
    assert one.fingerprint == again.fingerprint
    assert other.labels == one.labels and not np.allclose(one.scores(TEXTS), other.scores(TEXTS))
    assert other.fingerprint != one.fingerprint


def test_the_fingerprint_knows_the_code_of_a_function():
    def reads(tokenizer) -> str:
        return Sklearn(fitted(MultinomialNB(), vectorizer=CountVectorizer(analyzer=tokenizer))).fingerprint

    letters = {"a", "b"}
    assert reads(lambda text: text.split()) != reads(lambda text: text.split("a"))
    assert reads(lambda text: [*text.split(), *letters]) != reads(lambda text: [*text.split(), *{"a", "c"}])
    assert reads(re.compile("a+").findall) != reads(re.compile("b+").findall)
    assert reads(str.split) == reads(str.split)


def test_an_estimator_that_holds_itself():
    model = MultinomialNB()
    model.mine = [model]
    assert Sklearn(fitted(model)).fingerprint == Sklearn(fitted(model)).fingerprint


def test_the_fingerprint_is_the_same_in_every_process():
    script = """
import re
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from lexproof.victims.sklearn import Sklearn
texts = ["good great film", "great fun", "bad dull film", "dull awful mess"]
words = TfidfVectorizer(tokenizer=re.compile("[a-z]+").findall, token_pattern=None)
words.mine = {"so", "the", "a", "of"}
print(Sklearn(make_pipeline(words, RandomForestClassifier(3, random_state=0)).fit(texts, [1, 1, 0, 0])).fingerprint)
"""
    found = set()
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LEXPROOF_PADDING": "x" * int(seed) * 100}
        run = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        found.add(run.stdout)
    assert len(found) == 1
