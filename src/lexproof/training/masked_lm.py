"""A masked language model: a BERT body learns to guess hidden words of texts.

    learned = train_masked_lm(texts, recipe=Recipe(minutes=45))
    learned.save("models/mlm")          # a BertForMaskedLM folder, for candidates `masked-lm:models/mlm`

The head is BERT's own, g(h) = E · LayerNorm(GELU(W h + b)) + c, with E the word-piece embeddings of the body and c
starting at the logarithm of each word's share of the texts.  The body is trained too, at a lower rate: that of a
sentence encoder has forgotten which word stood where.

Reference: Devlin et al. 2019, BERT.  Deviations: only words of one piece are hidden (and scored), because only such
words are ever offered as substitutes; of those, 80 % become the mask, 10 % another word, 10 % stay, as published.
Dropout is off: a run sees hardly any text twice.

With `steps` the same seed on the same machine gives the same weights; with `minutes` the number of steps depends on
how fast the machine is.  An interrupt ends training early and keeps what was learned.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lexproof.errors import InputError, ModelError, require
from lexproof.training.masked_lm_rows import IGNORED, Rows, cut
from lexproof.training.recipe import check_numbers
from lexproof.training.transformer import default_body
from lexproof.victims.folder import replacing
from lexproof.victims.transformer_folder import is_offline, quiet, reading
from lexproof.victims.word_rows import Index

if TYPE_CHECKING:
    import torch
else:
    torch = require("torch", "transformers", "training a masked language model")

_LARGEST_NORM = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to train: until `steps` or `minutes` are over, whichever is first.

    A batch holds at most `batch_tokens` word pieces, in rows of at most `length`; `hidden` is the share of words.
    """

    steps: int | None = None
    minutes: float | None = None
    batch_tokens: int = 1024
    length: int = 128
    learning_rate: float = 3e-4
    head_learning_rate: float = 1e-3
    warmup: float = 0.05
    weight_decay: float = 0.01
    hidden: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.steps is None and self.minutes is None:
            raise InputError("expected a number of steps or minutes, got neither")
        for name in ("steps", "minutes", "batch_tokens", "learning_rate", "head_learning_rate"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"expected {name} > 0, got {value!r}")
        if not 8 <= self.length <= self.batch_tokens:
            raise InputError(f"expected a length from 8 to batch_tokens, {self.batch_tokens}, got {self.length!r}")
        if not 0 < self.hidden < 1:
            raise InputError(f"expected a share of hidden words in (0, 1), got {self.hidden!r}")
        if not 0 <= self.warmup < 1 or not self.weight_decay >= 0:
            raise InputError(
                f"expected warmup in [0, 1) and weight_decay >= 0, got {self.warmup!r} and {self.weight_decay!r}"
            )

    def done(self, step: int, seconds: float) -> float:
        """The share of training that is over."""
        by_steps = step / self.steps if self.steps is not None else 0.0
        by_time = seconds / (60 * self.minutes) if self.minutes is not None else 0.0
        return min(1.0, max(by_steps, by_time))


@dataclass(frozen=True, slots=True)
class Moment:
    """Where training stands: after `step` steps and `seconds`, a share `done` of it, with the last batch's loss."""

    step: int
    seconds: float
    done: float
    loss: float


@dataclass(slots=True)
class Learned:
    """A masked language model, its tokenizer, and how it was trained."""

    model: Any
    tokenizer: Any
    record: dict[str, Any] = field(default_factory=dict)

    def save(self, folder: str | Path) -> None:
        """Write a Hugging Face folder with `model.json` beside; an older model there is replaced."""
        with replacing(Path(folder)) as temporary, quiet(require("transformers", "transformers", "saving a model")):
            self.model.save_pretrained(temporary)
            self.tokenizer.save_pretrained(temporary)
            record = {"kind": "masked-lm", "training": self.record}
            (temporary / "model.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def train_masked_lm(
    texts: Sequence[str],
    *,
    body: str | Path | None = None,
    recipe: Recipe,
    progress: Callable[[Moment, Learned], None] | None = None,
) -> Learned:
    """Train a masked language model from a BERT body (by default MiniLM); one that has a head goes on learning.

    `progress` is called after each step and may save what there is.
    """
    if not texts:
        raise InputError("expected texts to learn from, got none")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)  # for the new head
        model, tokenizer, has_head = _read_body(body or default_body())
    rows = Rows(cut(texts, tokenizer, recipe.length), tokenizer, model.config.vocab_size)
    if not has_head:
        _start_at_shares(model, rows)
    learned = Learned(model, tokenizer)
    _Loop(learned, rows, recipe).run(progress)
    return learned


def _read_body(body: str | Path) -> tuple[Any, Any, bool]:
    transformers = require("transformers", "transformers", "training a masked language model")
    local = Path(body).is_dir() or is_offline()
    with reading(transformers, f"cannot load the body {str(body)!r}"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(body, local_files_only=local)
        model, info = transformers.BertForMaskedLM.from_pretrained(
            body, use_safetensors=True, output_loading_info=True, local_files_only=local
        )
    missing = sorted(info["missing_keys"])
    if any(not name.startswith("cls.") for name in missing):
        raise ModelError(f"expected a BERT body in {str(body)!r}, got no weights for {missing[0]}")
    return model, tokenizer, not missing


def _start_at_shares(model: Any, rows: Rows) -> None:
    """Let the head's constant be the logarithm of each whole word's share, so that training starts from there."""
    counts = np.bincount(np.concatenate(rows.rows), minlength=model.config.vocab_size)
    shares = np.where(rows.is_whole, counts + 0.5, 0.01)  # other pieces are never hidden
    with torch.no_grad():
        model.cls.predictions.bias.copy_(torch.from_numpy(np.log(shares / shares.sum())))


class _Loop:
    """Steps over the rows until the recipe says that it is enough."""

    def __init__(self, learned: Learned, rows: Rows, recipe: Recipe) -> None:
        self._learned, self._rows, self._recipe = learned, rows, recipe
        self._rng = np.random.default_rng(recipe.seed)
        learned.model.eval().requires_grad_(True)  # evaluation mode: no dropout
        self._optimizer = _optimizer(learned.model, recipe)
        self._rates = [group["lr"] for group in self._optimizer.param_groups]

    def run(self, progress: Callable[[Moment, Learned], None] | None) -> None:
        """Train in place; an interrupt ends it early."""
        started = time.perf_counter()
        losses: list[float] = []
        stopped = "interrupted"
        try:
            for batch in self._rows.batches(self._recipe.batch_tokens, self._rng):
                done = self._recipe.done(len(losses), time.perf_counter() - started)
                if done >= 1:
                    stopped = "done"
                    break
                losses.append(self._step(batch, done))
                self._note(losses, time.perf_counter() - started, "running")
                if progress:
                    seconds = time.perf_counter() - started
                    progress(
                        Moment(len(losses), seconds, self._recipe.done(len(losses), seconds), losses[-1]), self._learned
                    )
        except KeyboardInterrupt:
            if not losses:
                raise
        finally:
            self._learned.model.requires_grad_(False)
        self._note(losses, time.perf_counter() - started, stopped)

    def _note(self, losses: Sequence[float], seconds: float, stopped: str) -> None:
        recent = float(np.mean(losses[-100:]))
        self._learned.record = {
            **asdict(self._recipe),
            "rows": len(self._rows.rows),
            "steps_done": len(losses),
            "seconds": round(seconds, 1),
            "loss": round(recent, 4),
            "stopped": stopped,
        }

    def _step(self, batch: Index, done: float) -> float:
        warmup = self._recipe.warmup
        scale = min((done + 1e-3) / warmup if done < warmup else 1.0, (1 - done) / (1 - warmup))
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * scale
        hidden = self._rows.hide(batch, self._recipe.hidden, self._rng)
        ids, mask, wanted = map(torch.from_numpy, hidden)
        at = wanted != IGNORED
        model = self._learned.model
        states = model.bert(ids, attention_mask=mask).last_hidden_state[at]  # logits where they are asked for only
        loss = torch.nn.functional.cross_entropy(model.cls(states), wanted[at])
        self._optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), _LARGEST_NORM)
        self._optimizer.step()
        value = loss.item()
        if not np.isfinite(value):
            raise ModelError(f"training diverged: expected a finite loss, got {value}; lower the learning rates")
        return value


def _optimizer(model: Any, recipe: Recipe) -> torch.optim.AdamW:
    body = [p for name, p in model.named_parameters() if name.startswith("bert.")]
    head = [p for name, p in model.named_parameters() if not name.startswith("bert.")]
    groups = [
        {"params": [p for p in body if p.ndim > 1], "lr": recipe.learning_rate, "weight_decay": recipe.weight_decay},
        {"params": [p for p in body if p.ndim < 2], "lr": recipe.learning_rate, "weight_decay": 0.0},
        {"params": head, "lr": recipe.head_learning_rate, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, fused=True)
