"""The table that the laws run over: a small random instance of every registered victim kind."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

import lexproof as lp
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.base import Victim
from toys import Additive

STEMS = [f"w{i}" for i in range(8)]
WORDS = [stem for base in STEMS for stem in (base, *(f"{base}s{j}" for j in range(3)))]


def space_of(seed: int, *, words: int = 6, max_swaps: int | None = None) -> Space:
    """A small space over WORDS: repeated words, words without substitutes, odd gaps, substitutes of several tokens."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, words + 1))
    names = [STEMS[int(rng.integers(0, len(STEMS)))] for _ in range(n)]
    text = Text.parse("".join(name + str(rng.choice([" ", ", ", " <b> ", "\n"])) for name in names))
    choices: list[list[str]] = []
    for name in text.words:
        if name not in STEMS:
            choices.append([])
            continue
        options = [f"{name}s{j}" for j in range(int(rng.integers(0, 4)))]
        if rng.random() < 0.15:
            options.append(f"{name} {STEMS[0]}")  # more tokens than the word had
        if rng.random() < 0.15:
            options.append(f"unknown{name}")
        choices.append(options)
    limit = int(rng.integers(0, len(choices) + 1)) if max_swaps is None else max_swaps
    return Space(text, choices, limit)


def blackbox() -> Victim:
    return lp.BlackBox(lambda texts: Additive(3, quadratic=0.5).scores(texts), labels=["negative", "positive"])


def labels_only() -> Victim:
    def predict(texts: list[str]) -> list[int]:
        return Additive(3, quadratic=0.5).predict(texts).tolist()

    return lp.BlackBox(predict, labels=["negative", "positive"], scores=False)


def sklearn() -> Victim:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, size=8)) for _ in range(60)]
    pipeline = make_pipeline(CountVectorizer(token_pattern=r"\w+"), LogisticRegression(C=10.0))
    return lp.Sklearn(pipeline.fit(texts, rng.integers(0, 3, size=60)))


def word_model(kind: str, **settings: object) -> Victim:
    import torch

    from lexproof import registry
    from lexproof.victims.vocabulary import Vocabulary

    cls = registry.get("victims", kind)
    vocabulary = Vocabulary([*WORDS, ",", "<", ">", "b"])
    shape = cls.settings_type(**{"dim": 4, "max_length": 9, **settings})
    victim = cls(vocabulary, ["a", "b", "c"], settings=shape, seed=5)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():  # larger weights than at the start of training and no biases, so that swaps matter
        for name, weight in victim.net.named_parameters():
            scale = 0.0 if name.endswith("bias") else 1.0 if name == "embedding.weight" else 0.8
            weight.copy_(torch.randn(weight.shape, generator=generator) * scale)
        victim.net.embedding.weight[0] = 0.0
        rng = np.random.default_rng(5)
        sample = [" ".join(rng.choice(WORDS, size=5)) for _ in range(200)]
        logits = np.log(victim.scores(sample) + 1e-30)
        victim.net.last.weight /= float(logits.std(axis=0).mean())
        logits = np.log(victim.scores(sample) + 1e-30)
        victim.net.last.bias -= torch.from_numpy(logits.mean(axis=0)).float()  # no class is preferred
    return victim


def transformer(folder: Path) -> Victim:
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *STEMS, *(f"##s{j}" for j in range(3)), ",", "<", ">", "b"]
    (folder / "vocab.txt").write_text("\n".join(pieces))
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"))
    config = BertConfig(
        vocab_size=len(pieces), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
        max_position_embeddings=32, num_labels=3, initializer_range=0.6,
    )  # fmt: skip
    torch.manual_seed(1)
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return lp.Transformer(folder)


class _Service(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        scores = Additive(4).scores(given["inputs"]).tolist()
        body = json.dumps({"scores": scores}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def endpoint() -> Iterator[Victim]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield lp.Endpoint(f"http://127.0.0.1:{server.server_port}/", labels=["negative", "positive"])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


VICTIMS: dict[str, Callable[[], Victim]] = {
    "blackbox": blackbox,
    "labels-only": labels_only,
    "sklearn": sklearn,
    "mlp": lambda: word_model("mlp", hidden=6),
    "mlp-mean": lambda: word_model("mlp", hidden=6, pooling="mean"),
    "cnn": lambda: word_model("cnn", filters=5, widths=(2, 3)),
    "cnn-flat": lambda: word_model("cnn", filters=4, widths=(3,), layers=3, pooling="flatten"),
    "cnn-deep": lambda: word_model("cnn", filters=4, widths=(3,), layers=3, pooling="max"),
    "lstm": lambda: word_model("lstm", units=5),
    "bilstm": lambda: word_model("bilstm", units=4),
}
"""Victims that need no resources; `transformer` and `endpoint` are made by fixtures."""

KINDS = [*VICTIMS, "transformer", "endpoint"]
SLOW = {"endpoint"}
