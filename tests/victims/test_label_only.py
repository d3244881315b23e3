"""Victims that give labels only: functions, pipelines, services, and any victim with its scores hidden."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import lexproof as lp
from lexproof.errors import InputError, ModelError
from lexproof.space import Space
from lexproof.victims.blackbox import BlackBox
from lexproof.victims.endpoint import Endpoint, Politeness
from lexproof.victims.labels import LabelOnly, scores_of_labels
from lexproof.victims.load import load
from toys import Additive

LABELS = ("neg", "pos", "odd")


@pytest.mark.parametrize(
    "found",
    [[1, 0, 2], ["pos", "neg", "odd"], ("pos", 0, "odd"), np.array([1, 0, 2]), np.array(["pos", "neg", "odd"])],
)
def test_labels_by_number_and_by_name(found):
    assert scores_of_labels(found, 3, LABELS, "it").tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]


def test_names_that_are_numbers_are_names():
    assert scores_of_labels(["1", "0"], 2, ("1", "0"), "it").tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([0, 3], r"expected it to return labels from 0 to 2 or their names \(neg, pos, odd\), got 3 for input 1"),
        ([0, -1], "got -1 for input 1"),
        (["neg", "good"], "got 'good' for input 1"),
        ([0, 1.5], "got 1.5 for input 1"),
        ([None, 0], "got None for input 0"),
        ([[0.1, 0.9], [0.2, 0.8]], r"expected it to return one label a text, got \[0.1, 0.9\] for input 0; if it ret"),
        (np.zeros((2, 3)), "expected it to return one label a text, .* do not call it label-only"),
        ([0], "expected it to return 2 labels, one a text, got 1 answers"),
        ("ab", "expected it to return 2 labels, one a text, got"),
        (1, "expected it to return 2 labels, one a text, got int"),
    ],
)
def test_what_is_no_label(found, message):
    with pytest.raises(ModelError, match=message):
        scores_of_labels(found, 2, LABELS, "it")


# ---------------------------------------------------------------------- functions


def spam(texts: list[str]) -> list[str]:
    return ["spam" if "buy" in text else "ham" for text in texts]


def test_a_function_that_returns_labels():
    victim = BlackBox(spam, ["ham", "spam"], scores=False)
    assert not victim.has_scores
    assert victim.scores(["buy now", "hello"]).tolist() == [[0, 1], [1, 0]]
    assert victim.scores([]).shape == (0, 2)
    assert victim.fingerprint != BlackBox(spam, ["ham", "spam"]).fingerprint
    assert BlackBox(spam, ["ham", "spam"]).has_scores


def test_questions_that_need_no_scores():
    victim = BlackBox(spam, ["ham", "spam"], scores=False)
    space = Space("please get it today", [["kindly"], ["buy", "obtain"], [], ["now"]])
    assert lp.minimize(victim, space, 0).upper == 1
    assert lp.prove(victim, space.restrict([0, 3]), 0).kind == "robust"
    assert lp.count(victim, space, 0).value == pytest.approx(1 / 3)
    assert lp.find(victim, space, 0).kind == "broken"
    with pytest.raises(InputError, match="needs scores, but the victim gives labels only"):
        lp.find(victim, space, 0, attack="textfooler")


def test_scores_where_labels_were_promised_and_the_other_way_round():
    with pytest.raises(ModelError, match=r"expected black box 'it' to return one label a text, got .* for input 0"):
        BlackBox(lambda texts: [[0.5, 0.5]] * len(texts), ["a", "b"], name="it", scores=False).scores(["x"])
    hint = "if it returns labels, pass scores=False, or --label-only on the command line"
    with pytest.raises(
        ModelError, match=rf"expected black box 'it' to return scores of shape \(2, 2\), got \(2,\); {hint}"
    ):
        BlackBox(lambda texts: [0] * len(texts), ["a", "b"], name="it").scores(["x", "y"])
    with pytest.raises(ModelError, match=rf"expected black box 'it' to return numbers, got list: .*; {hint}"):
        BlackBox(lambda texts: ["a"] * len(texts), ["a", "b"], name="it").scores(["x", "y"])
    with pytest.raises(InputError, match=r"expected distinct labels, got \['a', 'a'\]"):
        BlackBox(spam, ["a", "a"], scores=False)


# ---------------------------------------------------------------------- any victim with its scores hidden


def test_hidden_scores_are_those_of_the_predicted_label():
    inner = Additive(3)
    victim = LabelOnly(inner)
    space = Space("w0 w1 w2", [["w0s0", "w0s1"], ["w1s0"], ["w2s0"]])
    points = space.points()
    (found,) = victim.score([(victim.bind(space), points)])
    expected = np.eye(2)[inner.predict(space.render(points))]
    assert (found == expected).all()
    assert (victim.scores(space.render(points)) == expected).all()
    assert (victim.labels, victim.name, victim.has_gradients) == (inner.labels, inner.name, False)
    assert victim.fingerprint not in (inner.fingerprint, LabelOnly(Additive(4)).fingerprint)


class Even(Additive):
    """Two labels within rounding of each other, and a third."""

    labels = ("a", "b", "c")
    rounding = 0.01

    def scores(self, inputs):
        table = {"tie": [0.5, 0.495, 0.005], "clear": [0.7, 0.2, 0.1], "flip": [0.1, 0.7, 0.2]}
        return np.array([table.get(text, table["clear"]) for text in inputs]).reshape(-1, 3)


def test_a_tie_is_shown_as_a_tie():
    victim = LabelOnly(Even())
    assert victim.scores(["tie", "clear", "flip"]).tolist() == [[1, 1, 0], [1, 0, 0], [0, 1, 0]]
    space = Space("clear", [["tie"]])
    assert lp.find(victim, space, 0).kind == "unknown"
    assert lp.prove(victim, space, 0).kind == "unknown"  # neither proven nor broken
    assert lp.find(victim, Space("clear", [["tie", "flip"]]), 0).kind == "broken"


# ---------------------------------------------------------------------- pipelines


def test_pipelines_that_only_predict():
    pytest.importorskip("sklearn")
    from sklearn.ensemble import VotingClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    texts = ["good great film", "great fun", "bad dull film", "dull awful mess", "so so film", "middling thing"]
    vote = VotingClassifier([("lr", LogisticRegression()), ("nb", MultinomialNB())], voting="hard")
    for classes in (["y", "y", "n", "n", "y", "n"], [7, 7, 3, 3, 5, 5]):
        pipeline = make_pipeline(CountVectorizer(), vote).fit(texts, classes)
        victim = lp.Sklearn(pipeline)
        assert (victim.has_scores, victim.method) == (False, "predict")
        assert [victim.labels[k] for k in victim.predict(texts)] == list(map(str, pipeline.predict(texts)))
        assert set(victim.scores(texts).flat) == {0.0, 1.0}
    named = lp.Sklearn(pipeline, ["three", "five", "seven"])
    assert named.predict(["great fun"]).tolist() == [2]
    soft = make_pipeline(CountVectorizer(), MultinomialNB()).fit(texts, classes)
    assert lp.Sklearn(soft).has_scores
    hidden = lp.Sklearn(soft, scores=False)
    assert not hidden.has_scores
    assert (hidden.predict(texts) == lp.Sklearn(soft).predict(texts)).all()
    assert hidden.fingerprint != lp.Sklearn(soft).fingerprint


@pytest.mark.parametrize("found", [1, None])
def test_predictions_that_are_no_list(found):
    class Odd:
        classes_ = ("a", "b")

        def predict(self, texts):
            return found

    with pytest.raises(ModelError, match=r"expected Odd\.predict to return 1 labels, one a text, got ndarray"):
        lp.Sklearn(Odd()).scores(["a"])


def test_a_pipeline_with_two_outputs_is_refused():
    class Two:
        classes_ = (np.array(["a", "b"]), np.array(["c", "d", "e"]))

        def predict(self, texts):
            return np.array([["a", "c"]] * len(texts))

    with pytest.raises(ModelError, match="expected a pipeline with one output, got several; wrap the one to be tested"):
        lp.Sklearn(Two())


def test_predictions_that_are_no_class():
    class Odd:
        classes_ = np.array(["n", "y"])

        def predict(self, texts):
            return np.array(["maybe"] * len(texts))

    with pytest.raises(
        ModelError, match=r"expected Odd.predict to return labels from 0 to 1 .*, got \"'maybe'\" for inp"
    ):
        lp.Sklearn(Odd()).scores(["a"])


# ---------------------------------------------------------------------- services


@contextmanager
def service(answer) -> Iterator[str]:
    """A service that answers with what a function makes of the texts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"]
            body = json.dumps(answer(texts)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def ask(url: str, texts: list[str]) -> list[list[float]]:
    victim = Endpoint(url, ["ham", "spam"], scores=False, politeness=Politeness(retries=0))
    try:
        assert not victim.has_scores
        return victim.scores(texts).tolist()
    finally:
        victim.close()


def surest(label: str) -> list[dict[str, object]]:
    other = "ham" if label == "spam" else "spam"
    return [{"label": other, "score": 0.2}, {"label": label, "score": 0.8}]


ANSWERS = {
    "labels": lambda texts: {"labels": spam(texts)},
    "bare names": spam,
    "bare numbers": lambda texts: [int(label == "spam") for label in spam(texts)],
    "one each": lambda texts: [{"label": label, "score": 0.9} for label in spam(texts)],
    "all of them": lambda texts: [surest(label) for label in spam(texts)],
    "without the outer list": lambda texts: (
        surest(spam(texts)[0]) if len(texts) == 1 else list(map(surest, spam(texts)))
    ),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_services_that_give_labels(answer):
    with service(answer) as url:
        assert ask(url, ["buy now", "hello"]) == [[0, 1], [1, 0]]
        assert ask(url, ["buy now"]) == [[0, 1]]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda texts: {"scores": [[0.1, 0.9]]}, r"expected 'labels' in the answer of http.*, got keys \['scores'\]"),
        (lambda texts: [[0.1, 0.9]], "expected http.* to return one label a text"),
        (lambda texts: "spam", "expected http.* to return 1 labels, one a text"),
        (lambda texts: [[{"label": "spam", "score": None}]], "expected a number for each label from http"),
        (lambda texts: ["eggs"], r"or their names \(ham, spam\), got 'eggs' for input 0"),
    ],
)
def test_answers_that_are_no_labels(answer, message):
    with service(answer) as url, pytest.raises(ModelError, match=message):
        ask(url, ["buy now"])


def test_a_service_of_labels_needs_their_names():
    with pytest.raises(ModelError, match="expected label names for http://localhost:1/x, which gives labels only"):
        load("http://localhost:1/x", label_only=True)
    victim = load("http://localhost:1/x", labels=["a", "b"], label_only=True)
    assert isinstance(victim, Endpoint)
    assert not victim.has_scores
    assert victim.fingerprint != load("http://localhost:1/x", labels=["a", "b"]).fingerprint


# ---------------------------------------------------------------------- load

USER_CODE = """
from lexproof.victims.blackbox import BlackBox
import numpy as np

def named(texts):
    return ["yes" if "y" in text else "no" for text in texts]

named.labels = ["no", "yes"]

def unnamed(texts):
    return [int("y" in text) for text in texts]

class Hard:
    classes_ = np.array(["a", "b"])
    def predict(self, texts):
        return np.array(["b"] * len(texts))

hard = Hard()

def make_hard():
    return hard

def make_victim():
    return BlackBox(lambda texts: [[0.3, 0.7] for _ in texts], ["u", "v"])
"""


@pytest.fixture
def user_file(tmp_path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(USER_CODE)
    return file


def test_functions_that_return_labels_are_said_to(user_file):
    victim = load(f"{user_file}:named", label_only=True)
    assert isinstance(victim, BlackBox)
    assert victim.scores(["y", "n"]).tolist() == [[0, 1], [1, 0]]
    other = load(f"{user_file}:unnamed", labels=["no", "yes"], label_only=True)
    assert other.scores(["y", "n"]).tolist() == [[0, 1], [1, 0]]
    with pytest.raises(ModelError, match=r"expected label names for .*unnamed', which returns labels, got none"):
        load(f"{user_file}:unnamed", label_only=True)
    with pytest.raises(ModelError, match=r"got \(1,\); if it returns labels, pass scores=False, or --label-only"):
        load(f"{user_file}:unnamed")
    with pytest.raises(ModelError, match="if it returns labels, pass scores=False, or --label-only"):
        load(f"{user_file}:named").scores(["y"])


def test_pipelines_and_victims(user_file):
    for name in ("hard", "make_hard"):
        victim = load(f"{user_file}:{name}")
        assert not victim.has_scores
        assert victim.predict(["x"]).tolist() == [1]
    hidden = load(f"{user_file}:make_victim", label_only=True)
    assert isinstance(hidden, LabelOnly)
    assert hidden.scores(["x"]).tolist() == [[0, 1]]


def test_models_with_their_scores_hidden():
    pytest.importorskip("torch")
    victim = load("movies-cnn", label_only=True)
    assert isinstance(victim, LabelOnly)
    assert set(victim.scores(["a fine film", "a dull mess"]).flat) == {0.0, 1.0}
    with pytest.raises(InputError, match="attack 'hotflip' needs gradients, which 'label-only' victims do not have"):
        lp.find(victim, Space("a fine film", [[], ["dull"], []]), attack="hotflip")
