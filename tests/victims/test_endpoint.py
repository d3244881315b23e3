"""Endpoints: a real HTTP server on the loopback address, well behaved and not."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from lexproof.errors import InputError, ModelError
from lexproof.victims.endpoint import Endpoint, Politeness, _retry_after

QUICK = Politeness(timeout=5.0, retries=3, pause=0.01)


def rows(inputs: list) -> list[list[float]]:
    return [[1 - len(str(text)) / 100, len(str(text)) / 100] for text in inputs]


class Server:
    """Answers request number k with script[k] (the last one from then on): a status, headers and a body or function."""

    def __init__(self, *script) -> None:
        self.script = script
        self.requests: list[tuple[float, dict, dict, int]] = []
        self.paths: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                number = len(outer.requests)
                outer.paths.append(self.path)
                outer.requests.append((time.monotonic(), dict(self.headers), body, self.client_address[1]))
                status, headers, answer = outer.script[min(number, len(outer.script) - 1)]
                content = answer(body) if callable(answer) else answer
                content = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *arguments) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/predict"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Server:
        self.thread.start()
        return self

    def __exit__(self, *error) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def ok(answer) -> tuple[int, dict, object]:
    return 200, {}, answer


GOOD = ok(lambda body: {"scores": rows(body["inputs"])})


def ask(server: Server, texts=("ab", "abcd"), **settings) -> np.ndarray:
    victim = Endpoint(server.url, ["neg", "pos"], **{"politeness": QUICK, **settings})
    try:
        return victim.scores(list(texts))
    finally:
        victim.close()


def labelled(body: dict) -> list:
    return [[{"label": "pos", "score": b}, {"label": "neg", "score": a}] for a, b in rows(body["inputs"])]


@pytest.mark.parametrize(
    "answer",
    [lambda body: {"scores": rows(body["inputs"])}, lambda body: rows(body["inputs"]), labelled],
    ids=["scores", "bare", "labelled"],
)
def test_the_three_forms_of_answers(answer):
    with Server(ok(answer)) as server:
        np.testing.assert_allclose(ask(server), [[0.98, 0.02], [0.96, 0.04]])
        assert server.requests[0][2] == {"inputs": ["ab", "abcd"]}


def test_labels_may_be_discovered():
    with Server(ok(labelled), ok([[0.1, 0.2, 0.7]]), ok([0.5])) as server:
        named = Endpoint.discover(server.url, politeness=QUICK)
        numbered = Endpoint.discover(server.url, politeness=QUICK)
        with pytest.raises(ModelError, match=r"expected http.* to return scores of shape \(1, classes\), got \(1,\)"):
            Endpoint.discover(server.url, politeness=QUICK)
        assert (named.labels, numbered.labels) == (("neg", "pos"), ("0", "1", "2"))
        for victim in (named, numbered):
            victim.close()


def test_one_text_may_be_answered_without_the_outer_list():
    with Server(ok(lambda body: labelled(body)[0])) as server:
        np.testing.assert_allclose(ask(server, ["ab"]), [[0.98, 0.02]])


def test_batches_pairs_and_one_connection():
    with Server(GOOD) as server:
        ask(server, ["a", "b", ("p", "h")], batch_size=2, field="inputs", extra={"parameters": {"top_k": None}})
        assert [request[2]["inputs"] for request in server.requests] == [["a", "b"], [["p", "h"]]]
        assert server.requests[0][2]["parameters"] == {"top_k": None}
        assert len({request[3] for request in server.requests}) == 1  # the same port: the connection was kept


def test_no_texts_ask_nothing():
    with Server(GOOD) as server:
        assert ask(server, []).shape == (0, 2)
        assert server.requests == []


def test_another_field_and_headers():
    with Server(ok(lambda body: rows(body["texts"]))) as server:
        ask(server, field="texts", headers={"X-Team": "nlp"})
        assert server.requests[0][1]["X-Team"] == "nlp"


def test_a_token_is_sent_and_never_shown(monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "s3cret")
    with Server((403, {}, b"forbidden")) as server:
        victim = Endpoint(server.url + "?key=hidden", ["neg", "pos"], token_env="MY_TOKEN", politeness=QUICK)
        with pytest.raises(
            ModelError, match=r"expected status 200 from http://127.* got status 403: 'forbidden'"
        ) as caught:
            victim.scores(["a"])
        victim.close()
        assert server.requests[0][1]["Authorization"] == "Bearer s3cret"
        for shown in (str(caught.value), repr(victim), victim.name, repr(vars(victim)), repr(vars(victim._channel))):
            assert "s3cret" not in shown
        assert "hidden" not in str(caught.value) + victim.name
        assert len(server.requests) == 1  # a refusal is not asked again


def test_a_server_that_fails_twice_is_asked_again():
    with Server((500, {}, b"no"), (503, {}, b"no"), GOOD) as server:
        assert ask(server).shape == (2, 2)
        assert len(server.requests) == 3


def test_a_server_that_keeps_failing():
    with (
        Server((500, {}, b"out of memory")) as server,
        pytest.raises(
            ModelError, match=r"no answer from http://.* after 3 tries; the last: status 500: 'out of memory'"
        ),
    ):
        ask(server, politeness=Politeness(retries=2, pause=0.01))


def test_pauses_double():
    with Server((500, {}, b""), (500, {}, b""), (500, {}, b""), GOOD) as server:
        ask(server, politeness=Politeness(retries=3, pause=0.1))
        times = [request[0] for request in server.requests]
        pauses = np.diff(times)
        assert (pauses >= [0.1, 0.2, 0.4]).all()


def test_retry_after_is_obeyed():
    with Server((429, {"Retry-After": "1"}, b"slow down"), GOOD) as server:
        ask(server)
        assert server.requests[1][0] - server.requests[0][0] >= 1.0


def test_a_wait_that_is_too_long_is_an_error_at_once():
    with (
        Server((503, {"Retry-After": "7200"}, b"maintenance"), GOOD) as server,
        pytest.raises(ModelError, match=r"http://.* asks to wait 7200 s, more than 60 s; try again later"),
    ):
        ask(server)


def test_retry_after_forms():
    assert _retry_after(None) is None
    assert _retry_after("3") == 3.0
    assert _retry_after("soon") is None
    assert _retry_after(format_datetime(datetime.now(UTC) - timedelta(hours=1))) == 0.0
    assert 50 < (_retry_after(format_datetime(datetime.now(UTC) + timedelta(minutes=1))) or 0) <= 60


def test_a_server_that_hangs():
    def hang(body):
        time.sleep(1.0)
        return []

    with (
        Server(ok(hang)) as server,
        pytest.raises(ModelError, match=r"after 2 tries; the last: no answer within 0.1 s"),
    ):
        ask(server, politeness=Politeness(timeout=0.1, retries=1, pause=0.01))


def test_a_slow_server_is_waited_for():
    def slow(body):
        time.sleep(0.3)
        return rows(body["inputs"])

    with Server(ok(slow)) as server:
        assert ask(server).shape == (2, 2)
        assert len(server.requests) == 1


def test_nobody_there():
    with Server(GOOD) as server:
        url = server.url
    victim = Endpoint(url, ["neg", "pos"], politeness=Politeness(retries=1, pause=0.01))
    with pytest.raises(ModelError, match=r"no answer from .* after 2 tries; the last: ConnectionRefusedError"):
        victim.scores(["a"])


def test_a_connection_that_was_closed_is_opened_again():
    with Server((200, {"Connection": "close"}, lambda body: rows(body["inputs"]))) as server:
        ask(server, ["a", "b", "c"], batch_size=1)
        assert len({request[3] for request in server.requests}) == 3


def test_requests_a_second_are_limited():
    with Server(GOOD) as server:
        ask(server, ["a", "b", "c"], batch_size=1, politeness=Politeness(requests_per_second=5))
        assert (np.diff([request[0] for request in server.requests]) > 0.15).all()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[0.1, 0.9]], r"expected http://.* to return scores of shape \(2, 2\), got \(1, 2\)"),
        ([[0.1, 0.2, 0.7]] * 2, r"of shape \(2, 2\), got \(2, 3\)"),
        (b"[[NaN, 0.5], [0.5, 0.5]]", "to return finite scores, got"),
        (b"<html>oops</html>", "expected JSON from http://.*, got '<html>oops</html>'"),
        (b"\xff\xfe", "expected JSON from"),
        ({"error": "model is loading"}, r"expected 'scores' in the answer of .*, got keys \['error'\]"),
        ([[{"label": "pos", "score": 1}]] * 2, "expected scores for neg, pos from .*, got pos"),
        ("hello", "to return numbers|of shape"),
        (None, "to return numbers|of shape"),
    ],
)
def test_unusable_answers(answer, message):
    with Server(ok(answer)) as server, pytest.raises(ModelError, match=message) as caught:
        ask(server)
    assert "\n" not in str(caught.value)


def test_the_white_space_around_a_token_is_not_sent(monkeypatch):
    monkeypatch.setenv("MY_TOKEN", " s3cret\n")
    with Server(GOOD) as server:
        ask(server, token_env="MY_TOKEN")
        assert server.requests[0][1]["Authorization"] == "Bearer s3cret"


@pytest.mark.parametrize("token", ["s3cret\nX-Other: 1", "s3cret\x7f", "s3crét"])
def test_a_token_that_cannot_be_sent_is_not_shown(monkeypatch, token):
    monkeypatch.setenv("MY_TOKEN", token)
    message = "^expected a token of printable ASCII characters in the environment variable MY_TOKEN, got others in it$"
    with pytest.raises(InputError, match=message):
        Endpoint("http://localhost/x", ["a", "b"], token_env="MY_TOKEN")
    monkeypatch.setenv("MY_TOKEN", "good")
    victim = Endpoint("http://localhost:9/x", ["a", "b"], token_env="MY_TOKEN", politeness=QUICK)
    monkeypatch.setenv("MY_TOKEN", token)  # it is read for each request
    with pytest.raises(InputError, match=message):
        victim.scores(["a"])


def test_paths_are_encoded():
    with Server(GOOD) as server:
        victim = Endpoint(server.url + "/prédire%20x y?q=é", ["neg", "pos"], politeness=QUICK)
        victim.scores(["ab"])
        victim.close()
        assert server.paths == ["/predict/pr%C3%A9dire%20x%20y?q=%C3%A9"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": "ftp://x/y"}, "expected an address such as http://localhost:8000/predict, got 'ftp://x/y'"),
        ({"url": "http://"}, "expected an address such as"),
        ({"url": "http://me:pw@host/"}, "expected no password in the address; send it with headers or token_env"),
        ({"url": "http://host:99999/"}, "expected an address such as"),
        ({"url": "http://[::1/x"}, r"expected an address such as .*, got 'http://\[::1/x'"),
        ({"url": f"http://{'a' * 80}.com/x"}, "expected an address such as .*, got 'http://aaa"),
        ({"url": f"http://{'é' * 80}.com/x"}, "expected an address such as .*, got 'http://ééé"),
        ({"url": "http://me:pw@[::1/x?key=secret"}, "expected an address such as .*, got 'http://…@\\[::1/x'$"),
        ({"url": "http://host/a\tb"}, "expected an address such as .*, got 'http://host/a"),
        ({"url": "http://my host/x"}, "expected an address such as .*, got 'http://my host/x'"),
        ({"headers": {"X-Key": "s3cret\n"}}, "^expected headers of printable ASCII characters, got others in 'X-Key'$"),
        ({"labels": ["a"]}, "expected at least 2 distinct labels, got"),
        ({"labels": ["a", "a"]}, "expected at least 2 distinct labels, got"),
        ({"batch_size": 0}, "expected batch_size >= 1, got 0"),
        ({"token_env": "NO_SUCH_TOKEN"}, "expected a token in the environment variable NO_SUCH_TOKEN, got nothing"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(InputError, match=message):
        Endpoint(**{"url": "http://localhost/x", "labels": ["a", "b"], **settings})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"timeout": 0}, "expected timeout > 0, got 0"),
        ({"retries": -1}, "expected retries >= 0, got -1"),
        ({"requests_per_second": 0}, "expected requests_per_second > 0, got 0"),
    ],
)
def test_politeness_is_checked(settings, message):
    with pytest.raises(InputError, match=message):
        Politeness(**settings)


def test_the_fingerprint_knows_the_address():
    one = Endpoint("http://localhost/a", ["x", "y"]).fingerprint
    assert (
        one
        == Endpoint("http://localhost/a", ["x", "y"]).fingerprint
        != Endpoint("http://localhost/b", ["x", "y"]).fingerprint
    )
