"""Scikit-learn pipelines: probabilities, decision values, labels from classes_, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from lexproof.errors import ModelError

pytest.importorskip("sklearn")

from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
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
    with pytest.raises(ModelError, match="expected a pipeline with predict_proba or decision_function, got CountVec"):
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
