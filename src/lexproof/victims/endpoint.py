"""Endpoint: a classifier behind HTTP that answers JSON.

A request is `POST {"inputs": [text, …]}`; a pair is written [premise, hypothesis].  What answers are understood is
said in `endpoint_answers`.

Connection errors, time-outs and the statuses 429 and 5xx are retried with doubling pauses (`Retry-After` is obeyed).
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar
from urllib.parse import SplitResult, quote, urlsplit

import numpy as np

from lexproof.errors import InputError, ModelError
from lexproof.points import FloatArray
from lexproof.text import Input
from lexproof.victims.base import Victim, check_scores
from lexproof.victims.endpoint_answers import is_labelled, labels_in, rows_in, table
from lexproof.victims.labels import scores_of_labels

_IN_TARGETS = "!#$%&'()*+,/:;=?@[]~"  # what may stand in a path or query as it is; what is encoded already stays so


@dataclass(frozen=True, slots=True, kw_only=True)
class Politeness:
    """How patiently and how fast to ask.

    Seconds to wait for an answer, how often to try again, the first pause between tries (it doubles), the longest one,
    and the most requests a second.
    """

    timeout: float = 30.0
    retries: int = 4
    pause: float = 0.5
    longest_pause: float = 60.0
    requests_per_second: float | None = None

    def __post_init__(self) -> None:
        if self.timeout <= 0:
            raise InputError(f"expected timeout > 0, got {self.timeout}")
        if self.retries < 0:
            raise InputError(f"expected retries >= 0, got {self.retries}")
        if self.requests_per_second is not None and self.requests_per_second <= 0:
            raise InputError(f"expected requests_per_second > 0, got {self.requests_per_second}")


class Endpoint(Victim):
    """An HTTP service.  One connection is kept open; several threads may share the victim.

    `token_env` names an environment variable whose value is sent as a bearer token; it is read for each request and
    never stored, shown or hashed.  `extra` is added to every request's JSON, for instance
    {"parameters": {"top_k": None}}.
    """

    kind: ClassVar[str] = "endpoint"

    def __init__(
        self,
        url: str,
        labels: Sequence[str],
        *,
        field: str = "inputs",
        batch_size: int = 32,
        headers: Mapping[str, str] | None = None,
        token_env: str | None = None,
        extra: Mapping[str, Any] | None = None,
        politeness: Politeness | None = None,
        name: str | None = None,
        rounding: float = 1e-6,
        scores: bool = True,
    ) -> None:
        if len(labels) < 2 or len(set(labels)) < len(labels):
            raise InputError(f"expected at least 2 distinct labels, got {list(labels)}")
        if batch_size < 1:
            raise InputError(f"expected batch_size >= 1, got {batch_size}")
        if token_env is not None:
            _token(token_env)
        self.labels = tuple(labels)
        self.rounding = rounding
        self.has_scores = scores
        self.batch_size = batch_size
        self._field = field
        self._extra = dict(extra or {})
        self._channel = _Channel(url, dict(headers or {}), token_env, politeness or Politeness())
        self.name = name or self._channel.shown

    @classmethod
    def discover(cls, url: str, **settings: Any) -> Endpoint:
        """An endpoint that is asked about one short text to learn its labels: its names in sorted order, or 0, 1, …"""
        victim = cls(url, ("0", "1"), **settings)
        source = victim._channel.shown
        if not victim.has_scores:
            raise ModelError(f"expected label names for {source}, which gives labels only, got none; pass labels")
        row = rows_in(victim._post(["a"]), 1, source)
        if isinstance(row, list) and len(row) == 1 and is_labelled(row[0]):
            victim.labels = tuple(sorted(str(item["label"]) for item in row[0]))
        else:
            victim.labels = tuple(map(str, range(check_scores(row, 1, None, source).shape[1])))
        return victim

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        """Scores of texts: (B, classes)."""
        starts = range(0, len(inputs), self.batch_size)
        parts = [self._ask(inputs[at : at + self.batch_size]) for at in starts]
        return np.concatenate([np.empty((0, self.classes)), *parts])

    def _ask(self, inputs: Sequence[Input]) -> FloatArray:
        source = self._channel.shown
        if not self.has_scores:
            return scores_of_labels(
                labels_in(self._post(inputs), len(inputs), source), len(inputs), self.labels, source
            )
        rows = table(self._post(inputs), self.labels, len(inputs), source)
        return check_scores(rows, len(inputs), self.classes, source)

    def _post(self, inputs: Sequence[Input]) -> Any:
        body = {**self._extra, self._field: [text if isinstance(text, str) else list(text) for text in inputs]}
        return self._channel.post(json.dumps(body).encode())

    def close(self) -> None:
        """Close the connection; the next request opens one again."""
        self._channel.close()

    @property
    def fingerprint(self) -> str:
        """Hash of address, labels and request form; what the service computes cannot be known."""
        content = [self.kind, self._channel.url, self.labels, self._field, self._extra]
        content += [] if self.has_scores else ["labels"]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


class _Channel:
    """Posts JSON to one address over a connection that is kept open."""

    def __init__(self, url: str, headers: dict[str, str], token_env: str | None, politeness: Politeness) -> None:
        parts = _parts(url)
        if parts.username or parts.password:
            raise InputError("expected no password in the address; send it with headers or token_env")
        self.url = url
        self.shown = f"{parts.scheme}://{parts.netloc}{parts.path}"  # a query may hold a secret
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._target = quote(target, safe=_IN_TARGETS)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=politeness.timeout)
        weakref.finalize(self, self._connection.close)
        for header, value in headers.items():
            if not (f"{header}{value}".isascii() and f"{header}{value}".isprintable()):
                raise InputError(f"expected headers of printable ASCII characters, got others in {header!r}")
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        self._token_env = token_env
        self._politeness = politeness
        self._earliest = 0.0
        self._lock = threading.Lock()

    def post(self, body: bytes) -> Any:
        """The parsed JSON answer, or ModelError when retries are used up or another status came."""
        problem, pause = "", 0.0
        with self._lock:
            for attempt in range(self._politeness.retries + 1):
                time.sleep(pause)
                pause = min(self._politeness.pause * 2**attempt, self._politeness.longest_pause)
                try:
                    status, wait, content = self._once(body)
                except (OSError, http.client.HTTPException) as error:
                    self._connection.close()
                    problem = _describe(error, self._politeness.timeout)
                    continue
                if status == 200:
                    return self._parse(content)
                problem = f"status {status}: {content[:200].decode('utf-8', 'replace').strip()!r}"
                if status != 429 and status < 500:
                    raise ModelError(f"expected status 200 from {self.shown}, got {problem}")
                pause = pause if wait is None else self._allowed(wait)
        raise ModelError(f"no answer from {self.shown} after {self._politeness.retries + 1} tries; the last: {problem}")

    def _allowed(self, wait: float) -> float:
        longest = self._politeness.longest_pause
        if wait > longest:
            raise ModelError(f"{self.shown} asks to wait {wait:.0f} s, more than {longest:g} s; try again later")
        return wait

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _once(self, body: bytes) -> tuple[int, float | None, bytes]:
        if self._politeness.requests_per_second is not None:
            time.sleep(max(0.0, self._earliest - time.monotonic()))
            self._earliest = time.monotonic() + 1 / self._politeness.requests_per_second
        headers = dict(self._headers)
        if self._token_env is not None:
            headers["Authorization"] = f"Bearer {_token(self._token_env)}"
        self._connection.request("POST", self._target, body, headers)
        response = self._connection.getresponse()
        return response.status, _retry_after(response.getheader("Retry-After")), response.read()

    def _parse(self, content: bytes) -> Any:
        try:
            return json.loads(content)
        except ValueError as error:
            raise ModelError(
                f"expected JSON from {self.shown}, got {content[:80].decode('utf-8', 'replace')!r}"
            ) from error


def _parts(url: str) -> SplitResult:
    """The parts of an address, or InputError; a host name must be one that can be looked up."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna")
        is_usable = parts.scheme in ("http", "https") and host and (parts.port is None or parts.port > 0)
    except ValueError:  # brackets, a port or a host name that cannot be
        is_usable = False
    if not is_usable or not url.isprintable() or " " in parts.netloc:
        shown = re.sub(
            "//.*@", "//…@", url.partition("?")[0]
        )  # neither a password nor a query, which may hold a secret
        raise InputError(f"expected an address such as http://localhost:8000/predict, got {shown!r}")
    return parts


def _token(variable: str) -> str:
    """The token in an environment variable; no message shows it."""
    token = os.environ.get(variable, "").strip()
    if not token:
        raise InputError(f"expected a token in the environment variable {variable}, got nothing; set it")
    if not (token.isascii() and token.isprintable()):
        raise InputError(
            f"expected a token of printable ASCII characters in the environment variable {variable}, got others in it"
        )
    return token


def _describe(error: OSError | http.client.HTTPException, timeout: float) -> str:
    return f"no answer within {timeout:g} s" if isinstance(error, TimeoutError) else f"{type(error).__name__}: {error}"


def _retry_after(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for: a number, or the time until a date."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):  # neither form, or a date without a zone
        return None
